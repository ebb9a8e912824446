"""The log's output: a bounded queue in front of stderr, so that logging never blocks, and a filter for repeated lines."""

from __future__ import annotations

import atexit
import io
import logging
import os
import select
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import NoReturn

NOT_TAKEN = "it does not take them as quickly as they come"
Written = Callable[[bool], None]
_Line = tuple[bytes, Written | None]


class Lines:
    """A bounded queue of lines, and the thread that writes them. A line is dropped and counted if the queue is full or
    closed, or if writing fails.

    `on_drop` is called with the reason when lines begin to be dropped, and `on_recovery` with the number of dropped lines
    once a line is written again. The thread is a daemon, so that a blocked write does not keep the process alive.
    (`logging.handlers.QueueListener` has no limit in bytes, and waits for its thread.)"""

    def __init__(
        self,
        name: str,
        write: Callable[[bytes], None],
        on_drop: Callable[[str], None],
        on_recovery: Callable[[int], None],
        most_bytes: int = 1024 * 1024,  # queued: some three thousand lines of calls
    ) -> None:
        """Starts the thread, which calls `write` with whole lines. `write` may block, and may raise OSError."""
        self._write, self._tell_lost, self._tell_found = write, on_drop, on_recovery
        self._most_bytes = most_bytes
        # Both must be reentrant: a finaliser that logs can run anywhere, also while this thread holds the lock.
        self._queue: SimpleQueue[_Line | None] = SimpleQueue()
        self._lock = threading.RLock()
        self._waiting_bytes = 0
        self._lost_in_a_row = 0
        self._closed = False
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, line: bytes, written: Written | None = None) -> bool:
        """Queues a line. Returns False if the queue is closed or has no room. `written` is called on the thread, with True
        if the line was written and False if writing failed."""
        with self._lock:
            room = not self._closed and self._waiting_bytes + len(line) <= self._most_bytes
            if room:
                self._waiting_bytes += len(line)
                self._queue.put((line, written))
        if not room:
            self._drop(1, NOT_TAKEN)
        return room

    def close(self, seconds: float) -> None:
        """Refuses further lines, and blocks up to `seconds` until the queued ones are written."""
        with self._lock:
            self._closed = True
            self._queue.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        while batch := self._next_batch():
            error: OSError | None = None
            try:
                self._write(b"".join(line for line, _ in batch))
            except OSError as raised:
                error = raised
            with self._lock:
                self._waiting_bytes -= sum(len(line) for line, _ in batch)
            if error is not None:
                self._drop(len(batch), error.strerror or type(error).__name__)
            elif lost := self._lost_in_a_row:
                self._lost_in_a_row = 0
                self._tell_found(lost)
            for _, written in batch:
                if written is not None:
                    written(error is None)

    def _next_batch(self) -> list[_Line]:
        batch: list[_Line] = []
        size = 0
        line = self._queue.get()
        while line is not None:
            batch.append(line)
            size += len(line[0])
            if size >= 64 * 1024:
                return batch
            try:
                line = self._queue.get_nowait()
            except Empty:
                return batch
        if batch:
            self._queue.put(None)  # so that the next call returns an empty batch
        return batch

    def _drop(self, lines: int, why: str) -> None:
        with self._lock:
            begins = self._lost_in_a_row == 0
            self._lost_in_a_row += lines
            self.dropped += lines
        if begins:
            self._tell_lost(why)


def write_all(fd: int, data: bytes) -> None:
    sent = 0
    while sent < len(data):
        sent += write_some(fd, data[sent:])


def write_some(fd: int, data: bytes) -> int:
    """Writes one byte or more and returns how many. Waits for room in a non-blocking descriptor. Raises OSError."""
    while True:
        try:
            return os.write(fd, data)
        except BlockingIOError:
            waiting = select.poll()
            waiting.register(fd, select.POLLOUT)
            waiting.poll()


SECONDS = 10.0
MOST_ALIKE = 20
MOST_REMEMBERED = 100


class RepeatFilter(logging.Filter):
    """Passes at most 20 messages in 10 s that differ only in their arguments. Of messages below ERROR from uvicorn, mcp or
    asyncio, passes only one. Passes all messages of `manga.` loggers. The first message that passes after the 10 s states
    how many were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._said: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("manga."):  # these loggers' lines are limited by RepeatLimit
            return True
        now, words = self._clock(), str(record.msg)
        alike = (record.name, words)
        began, times = self._said.pop(alike, (now, 0))
        is_sparing = record.levelno < logging.ERROR and record.name.startswith(("uvicorn", "mcp", "asyncio"))
        left_out, most = 0, 1 if is_sparing else MOST_ALIKE
        if now - began >= SECONDS:
            left_out, began, times = max(0, times - most), now, 0
        self._said[alike] = (began, times + 1)
        if len(self._said) > MOST_REMEMBERED:
            self._said.pop(next(iter(self._said)))
        if times >= most:
            return False
        if left_out:
            record.msg = f"{words} (and {left_out} more)"
        return True


logger = logging.getLogger(__name__)
FD = 2
MISSING = "%d lines of this log are missing: stderr was not read as quickly as they came"
LAST_SECONDS = 0.5
"""Longest wait for the last lines when the process ends."""


class DescriptorText(io.TextIOBase):
    """Base of text streams that write UTF-8 to a file descriptor."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, fd: int = FD) -> None:
        self._fd = fd

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return os.isatty(self._fd)


class QueuedStderr(DescriptorText):
    """stderr behind a queue. Whole lines are queued at once, an unfinished line when it ends or is flushed."""

    def __init__(self, fd: int = FD) -> None:
        super().__init__(fd)
        self._begun = ""
        self._lock = threading.RLock()
        # The loss cannot be logged to a blocked stderr: /metrics counts it.
        self.lines = Lines("stderr", partial(write_all, fd), lambda why: None, partial(logger.warning, MISSING))

    def write(self, text: str) -> int:
        with self._lock:
            whole, end, rest = (self._begun + text).rpartition("\n")
            self._begun = rest[-64 * 1024 :]
        if end:
            self._put(whole + end)
        return len(text)

    def flush(self) -> None:
        with self._lock:
            begun, self._begun = self._begun, ""
        if begun:
            self._put(begun)

    def close(self) -> None:
        """Writes the queued lines and ends the queue. The file descriptor stays open."""
        self.flush()
        self.lines.close(LAST_SECONDS)

    def _put(self, text: str) -> None:
        self.lines.put(text.encode(self.encoding, self.errors))


def never_wait_for_stderr() -> None:
    """Replaces `sys.stderr` by a `QueuedStderr`. Call it once, at the start of a process."""
    sys.stderr = QueuedStderr()
    atexit.register(sys.stderr.close)


def dropped_lines() -> int:
    return sys.stderr.lines.dropped if isinstance(sys.stderr, QueuedStderr) else 0


def exit_now(status: int) -> NoReturn:
    """Ends the process without waiting for its threads, except for up to `LAST_SECONDS` to write the last log lines."""
    sys.stderr.close()
    os._exit(status)


class PolledStderr(DescriptorText):
    """stderr that neither blocks nor needs a thread. A text is cut to `PIPE_BUF` bytes, which a ready pipe accepts at once
    (pipe(7)), and lost if the pipe is not ready."""

    def write(self, text: str) -> int:
        data = text.encode(self.encoding, self.errors)[: select.PIPE_BUF]
        if select.select([], [self._fd], [], 0)[1]:
            os.write(self._fd, data)
        return len(text)


def leave_stderr_to_no_thread() -> None:
    """Replaces a `QueuedStderr` by a `PolledStderr`, since a process that forks must have no other threads."""
    queued = sys.stderr
    if isinstance(queued, QueuedStderr):
        sys.stderr = PolledStderr()
        queued.close()


def log_to_stderr(level: str, who: str = "") -> None:
    """Configures logging to stderr; stdout carries the protocol or results. `who` names one of several processes.

    `level` applies to this server's own loggers. Libraries, which may log personal data, are shown from WARNING up."""
    form = f"%(asctime)s %(levelname)s {who and who + ' '}%(name)s %(message)s"
    logging.basicConfig(stream=sys.stderr, format=form, force=True)
    logging.root.handlers[0].addFilter(RepeatFilter())
    logging.root.setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
    for name in ("server", "session", "tools", "infra", "manga"):
        logging.getLogger(name).setLevel(level.upper())
    logging.getLogger("mcp.server.sse").setLevel(logging.CRITICAL)  # it logs the content of malformed bodies
