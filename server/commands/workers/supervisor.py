"""Starts the workers, replaces those that die, passes connections to them, and stops them.

The supervisor forks, so it is a single thread without an event loop. Workers share its loaded memory (copy on write), also
those that replace dead ones. uvicorn's own supervisor has new interpreters load everything, and balances nothing."""

from __future__ import annotations

import logging
import math
import os
import selectors
import signal
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from server.runtime.lifecycle import ENDING, TOGETHER_SECONDS, list_ending_signals
from server.transport.http.connection import OVERLOADED_ANSWER
from session.resilience.breaker import Backoff

CONNECTION = b"c"
REPORT = struct.Struct("!?I")


class End:
    """A non-blocking end of the socket pair by which the supervisor sends connections and a worker sends reports."""

    def __init__(self, own: socket.socket) -> None:
        own.setblocking(False)
        self._own = own
        self._received = b""

    def fileno(self) -> int:
        return self._own.fileno()

    def close(self) -> None:
        self._own.close()

    def send_connection(self, connection: socket.socket) -> bool:
        """Sends a connection's file descriptor to the worker. Returns False if the worker hangs or is gone."""
        try:
            return socket.send_fds(self._own, [CONNECTION], [connection.fileno()]) > 0
        except OSError:
            return False

    def receive_connection(self) -> socket.socket | None:
        """Returns a connection; None if none is waiting or could be received. Raises EOFError if the supervisor is gone."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self._own, len(CONNECTION), 1)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            data, descriptors = b"", []
        if not data:
            raise EOFError
        return socket.socket(fileno=descriptors[0]) if descriptors else None

    def send_report(self, *, takes: bool, connections: int) -> None:
        """Sends whether the worker takes connections, and the number of its open ones. The report is dropped if the
        supervisor does not read, since a newer one follows."""
        with suppress(OSError):
            self._own.send(REPORT.pack(takes, connections))

    def receive_report(self) -> tuple[bool, int] | None:
        """Returns the newest report since the last call, as (takes, connections); None if none has arrived since then."""
        with suppress(OSError):
            self._received += self._own.recv(64 * REPORT.size)
        whole = len(self._received) // REPORT.size * REPORT.size
        reports, self._received = self._received[:whole], self._received[whole:]
        return REPORT.unpack(reports[-REPORT.size :]) if reports else None


def open_channel() -> tuple[End, End]:
    """Returns the supervisor's end and the worker's."""
    above, below = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return End(above), End(below)


class Signals:
    """Received signals as a selectable object. Call `take` when it is readable. Replaces the signal handlers."""

    def __init__(self) -> None:
        self._read, self._write = socket.socketpair()
        for end in (self._read, self._write):
            end.setblocking(False)
        self._on_signaled = [*list_ending_signals(), signal.SIGCHLD]
        for each in self._on_signaled:
            signal.signal(each, lambda *_: None)  # without a handler a signal writes no byte to the wakeup descriptor
        signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)

    def fileno(self) -> int:
        return self._read.fileno()

    def take(self) -> set[int]:
        return set(self._read.recv(4096))

    def close(self) -> None:
        signal.set_wakeup_fd(-1)
        for each in self._on_signaled:
            signal.signal(each, signal.SIG_DFL)
        self._read.close()
        self._write.close()


FRESH_SECONDS = 2.5
"""A worker that has sent no report for this long gets connections only if no other worker takes them."""
Run = Callable[[int, End], int]
"""Runs in the forked process with the worker's number and socket end, and returns the exit status."""


class Worker:
    """The supervisor's view of a worker process. `number` counts from 1; a replacement gets the same number."""

    def __init__(self, number: int, run: Run, leave_behind: Callable[[], None], now: float) -> None:
        """Forks. The child closes the parent's files by `leave_behind`, and exits with `run`'s status. Raises OSError."""
        self.number = number
        self.began_at = self._heard_at = now
        self.takes = self.given_up = False
        self._connections = 0
        self.end, below = open_channel()
        # Until the child has its own handlers, a signal must end it instead of running the supervisor's.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (*ENDING, signal.SIGCHLD))
        unblock = partial(signal.pthread_sigmask, signal.SIG_SETMASK, before)
        try:
            self.pid = os.fork()
            if self.pid == 0:
                status = 1
                try:
                    self.end.close()
                    leave_behind()
                    unblock()
                    status = run(number, below)
                finally:
                    os._exit(status)
        except OSError:
            self.end.close()
            raise
        finally:
            below.close()
            unblock()

    def read_report(self, now: float) -> None:
        if (report := self.end.receive_report()) is not None:
            self.takes, self._connections = report
            self._heard_at = now

    def pass_connection(self, connection: socket.socket) -> bool:
        sent = self.end.send_connection(connection)
        self._connections += sent
        return sent

    def load(self, now: float) -> tuple[bool, int]:
        """Returns a sort key: workers with a recent report before others, then by their number of connections."""
        return self.silent_for(now) > FRESH_SECONDS, self._connections

    def silent_for(self, now: float) -> float:
        return now - self._heard_at

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def poll_exit_status(self) -> int | None:
        """Returns the exit status, negative for a signal; None while the process lives."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None


logger = logging.getLogger(__name__)
HUNG_SECONDS = 6.0
"""Workers report four times a second; one silent for this long is killed and replaced."""
START_SECONDS = 120.0
"""Seconds without a report that are allowed to a worker that takes no connections, since it is starting or stopping."""
CLOSE_SECONDS = 1.4
"""A stopping worker is killed this many seconds after one turn's budget has passed."""


class Supervisor:
    """Runs the workers. The first worker starts alone: a wrong setting is then reported once, and ends the start. When the
    first worker accepts connections, `opened` is called and the other workers are started."""

    def __init__(
        self,
        workers: int,
        listener: socket.socket,
        run: Run,
        budget_seconds: float,
        opened: Callable[[], None],
        on_tick: Callable[[], None] = lambda: None,
    ) -> None:
        """`run` runs in each forked worker, which has `budget_seconds` for open calls when it stops. `on_tick` is called in
        the supervisor, about once a second or more often."""
        listener.setblocking(False)
        self._numbers = range(1, workers + 1)
        self._listener, self._run, self._opened, self._on_tick = listener, run, opened, on_tick
        self._budget_seconds = budget_seconds
        self._workers: dict[int, Worker] = {}
        self._backoff = {number: Backoff() for number in self._numbers}
        self._due = {1: 0.0}
        self._began = self._listening = False
        self._stopped_at: float | None = None
        self._end_by = math.inf
        self._status = 0
        self._signals = Signals()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._signals, selectors.EVENT_READ, self._on_signal)

    def run(self) -> int:
        """Runs until a stop signal, or until a first worker ends that never accepted connections, and then until all
        workers have ended. Returns the exit status."""
        while self._stopped_at is None or self._workers:
            next_due = min([self._end_by, *self._due.values()])
            for key, _ in self._selector.select(min(1.0, max(0.0, next_due - time.monotonic()))):
                key.data()
            self._reap()
            self._kill_hung()
            self._start_due()
            self._update_listening()
            self._on_tick()
        self._close()
        return self._status

    def _start_due(self) -> None:
        for number in [each for each, due in self._due.items() if due <= time.monotonic()]:
            del self._due[number]
            try:
                worker = Worker(number, self._run, self._close, time.monotonic())
            except OSError as error:  # out of memory, processes or files, for now
                pause = self._backoff[number].pause_after(0.0)
                logger.error("worker %d cannot be started: %s; it is tried again in %.1f s", number, error.strerror, pause)
                self._due[number] = time.monotonic() + pause
                continue
            self._workers[number] = worker
            self._selector.register(worker.end, selectors.EVENT_READ, lambda worker=worker: self._hear(worker))

    def _hear(self, worker: Worker) -> None:
        worker.read_report(time.monotonic())
        if worker.takes and not self._began and self._stopped_at is None:
            self._began = True
            self._opened()
            self._due |= dict.fromkeys(self._numbers[1:], 0.0)

    def _on_signal(self) -> None:
        asked = self._signals.take() & ENDING
        now = time.monotonic()
        if asked and self._stopped_at is None:
            self._stopped_at, self._end_by = now, now + self._budget_seconds + CLOSE_SECONDS
            self._due.clear()
            self._signal_all(signal.SIGTERM)
        elif asked and self._stopped_at is not None and now - self._stopped_at > TOGETHER_SECONDS:
            self._status = 1
            self._signal_all(signal.SIGKILL)

    def _signal_all(self, number: signal.Signals) -> None:
        for worker in self._workers.values():
            worker.signal(number)

    def _reap(self) -> None:
        for worker in list(self._workers.values()):
            if (status := worker.poll_exit_status()) is None:
                continue
            self._selector.unregister(worker.end)
            worker.end.close()
            del self._workers[worker.number]
            now = time.monotonic()
            if self._stopped_at is not None:
                continue
            if not self._began:
                self._stopped_at, self._status = now, status if status > 0 else 1
                continue
            pause = self._backoff[worker.number].pause_after(now - worker.began_at)
            how = f"by signal {-status}" if status < 0 else f"with status {status}"
            logger.error("worker %d has ended %s; it is started again in %.1f s", worker.number, how, pause)
            self._due[worker.number] = now + pause

    def _kill_hung(self) -> None:
        now = time.monotonic()
        if now >= self._end_by:
            self._signal_all(signal.SIGKILL)
        if self._stopped_at is not None:
            return
        for worker in self._workers.values():
            allowed = HUNG_SECONDS if worker.takes else START_SECONDS
            if worker.silent_for(now) > allowed and not worker.given_up:
                worker.given_up = True
                logger.error("worker %d has said nothing for %.0f s and is killed", worker.number, allowed)
                worker.signal(signal.SIGKILL)

    def _update_listening(self) -> None:
        """Accepts connections only while a worker takes them. Until then connections wait in the kernel's queue."""
        wanted = any(worker.takes for worker in self._workers.values())
        if wanted and not self._listening:
            self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        elif self._listening and not wanted:
            self._selector.unregister(self._listener)
        self._listening = wanted

    def _accept(self) -> None:
        with suppress(OSError):  # no connection is waiting, or no file descriptor is free
            for _ in range(64):
                connection, _ = self._listener.accept()
                with connection:
                    self._hand_on(connection)

    def _hand_on(self, connection: socket.socket) -> None:
        now = time.monotonic()
        for worker in sorted((w for w in self._workers.values() if w.takes), key=lambda each: each.load(now)):
            if worker.pass_connection(connection):
                return
        with suppress(OSError):
            connection.setblocking(False)
            connection.send(OVERLOADED_ANSWER)

    def _close(self) -> None:
        """Closes the supervisor's own files. Each forked child calls it too."""
        self._selector.close()
        self._signals.close()
        self._listener.close()
        for worker in self._workers.values():
            worker.end.close()
