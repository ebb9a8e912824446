"""One worker, as its supervisor sees it: a process and the way to it."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from server.commands.workers.channel import WorkerEnd, channel
from server.commands.workers.signals import HEEDED

FRESH_SECONDS = 2.5
"""Whoever has said nothing for so long gets connections only where nobody else is."""

Run = Callable[[int, WorkerEnd], int]
"""What a worker does, by its number: it returns the exit status, in the process that was forked."""


class Worker:
    """Forked when it is made. `number` counts from 1 and is the successor's too."""

    def __init__(self, number: int, run: Run, leave_behind: Callable[[], None], now: float) -> None:
        """`leave_behind` closes in the child what is the supervisor's. Raises OSError."""
        self.number = number
        self.began_at = self._heard_at = now
        self.takes = self.given_up = False
        self._connections = 0
        self.end, below = channel()
        # A signal that comes before the child heeds any by itself ends it, and is not lost on the supervisor's handlers.
        unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, HEEDED)
        try:
            self.pid = os.fork()
        except OSError:
            _unblock(unblocked)
            self.end.close()
            below.close()
            raise
        if self.pid == 0:
            _become(number, run, below, (self.end.close, leave_behind, partial(_unblock, unblocked)))
        below.close()
        _unblock(unblocked)

    def hear(self, now: float) -> None:
        """Takes its reports."""
        if (report := self.end.hear()) is not None:
            self.takes, self._connections, self._heard_at = report.takes, report.connections, now

    def hand(self, connection: socket.socket) -> bool:
        handed = self.end.hand(connection)
        self._connections += handed
        return handed

    def load(self, now: float) -> tuple[bool, int]:
        """The less, the sooner it gets the next connection."""
        return self.silent_for(now) > FRESH_SECONDS, self._connections

    def silent_for(self, now: float) -> float:
        return now - self._heard_at

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def ended(self) -> int | None:
        """Returns the exit status of a process that is over, negative for a signal."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            return None
        self.end.close()
        return os.waitstatus_to_exitcode(status)


def _become(number: int, run: Run, own: WorkerEnd, first: Sequence[Callable[[], None]]) -> None:
    """Never returns: what stands above on the stack is the supervisor's to end."""
    status = 1
    try:
        for each in first:
            each()
        status = run(number, own)
    finally:
        os._exit(status)


def _unblock(mask: set[int]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
