"""Signals of a process without an event loop: something to wait for beside everything else."""

from __future__ import annotations

import signal
import socket
from types import FrameType

from server.runtime.signals import ENDING, heeded

HEEDED = (*ENDING, signal.SIGCHLD)


class Signals:
    """A descriptor that is readable when one has come, until `take` tells which."""

    def __init__(self) -> None:
        self._read, self._write = socket.socketpair()
        for end in (self._read, self._write):
            end.setblocking(False)
        self._heeded = [*heeded(), signal.SIGCHLD]
        for each in self._heeded:
            signal.signal(each, _nothing)
        signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)

    def fileno(self) -> int:
        return self._read.fileno()

    def take(self) -> set[int]:
        try:
            return set(self._read.recv(4096))
        except BlockingIOError:
            return set()

    def close(self) -> None:
        """Leaves them to their defaults: in a child, until it heeds them itself."""
        signal.set_wakeup_fd(-1)
        for each in self._heeded:
            signal.signal(each, signal.SIG_DFL)
        self._read.close()
        self._write.close()


def _nothing(number: int, frame: FrameType | None) -> None:
    """Without a handler of Python's there is no byte on the descriptor."""
