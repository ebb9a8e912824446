"""Where the log goes, and whose lines are in it."""

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

MOST_BYTES = 1024 * 1024
"""What may wait; a thousand lines of a call each take a third of it."""
BATCH_BYTES = 64 * 1024
NOT_TAKEN = "it does not take them as quickly as they come"
Written = Callable[[bool], None]
_Line = tuple[bytes, Written | None]


class Lines:
    """A bounded queue and the thread that writes what is in it. A line that finds no room, or that cannot be written, is
    dropped and counted.

    `lost` is told why when lines begin to be dropped, `found` how many were once one is written again. The thread is a
    daemon: a write that never returns holds up nobody, the end of the process included.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[bytes], None],
        lost: Callable[[str], None],
        found: Callable[[int], None],
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """`write` takes whole lines on the thread; it may block, and raises OSError."""
        self._write, self._tell_lost, self._tell_found = write, lost, found
        self._most_bytes = most_bytes
        # Both may be entered again by whoever holds them: a finaliser that logs can run anywhere.
        self._queue: SimpleQueue[_Line | None] = SimpleQueue()
        self._lock = threading.RLock()
        self._waiting_bytes = 0
        self._lost_in_a_row = 0
        self._closed = False
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, line: bytes, written: Written | None = None) -> bool:
        """Tells whether there was room. `written` is told on the thread what became of the line."""
        with self._lock:
            room = not self._closed and self._waiting_bytes + len(line) <= self._most_bytes
            if room:
                self._waiting_bytes += len(line)
        if room:
            self._queue.put((line, written))
        else:
            self._drop(1, NOT_TAKEN)
        return room

    def close(self, seconds: float) -> None:
        """Takes no more, and gives what waits so long to be written."""
        self._closed = True
        self._queue.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        while batch := self._next():
            try:
                self._write(b"".join(line for line, _ in batch))
            except OSError as error:
                self._settle(batch, error)
            else:
                self._settle(batch, None)

    def _next(self) -> list[_Line]:
        """Returns what waits, as far as one write should hold; nothing at the end."""
        batch: list[_Line] = []
        size = 0
        line = self._queue.get()
        while line is not None:
            batch.append(line)
            size += len(line[0])
            if size >= BATCH_BYTES:
                return batch
            try:
                line = self._queue.get_nowait()
            except Empty:
                return batch
        if batch:
            self._queue.put(None)  # the end is for the next look
        return batch

    def _settle(self, batch: list[_Line], error: OSError | None) -> None:
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

    def _drop(self, lines: int, why: str) -> None:
        with self._lock:
            begins = self._lost_in_a_row == 0
            self._lost_in_a_row += lines
            self.dropped += lines
        if begins:
            self._tell_lost(why)


def write_all(fd: int, data: bytes) -> None:
    """Waits until all of it is taken. Raises OSError."""
    sent = 0
    while sent < len(data):
        sent += write_some(fd, data[sent:])


def write_some(fd: int, data: bytes) -> int:
    """Returns how many bytes were taken, at least one: waits for room also where the descriptor does not block, as others
    may have set it. Raises OSError."""
    while True:
        try:
            return os.write(fd, data)
        except BlockingIOError:
            waiting = select.poll()
            waiting.register(fd, select.POLLOUT)
            waiting.poll()


LIBRARIES = ("uvicorn", "mcp", "asyncio")
SECONDS = 10.0
MOST_ALIKE = 20
MOST_REMEMBERED = 100
SAMPLED = ("manga.",)
"""Lines of calls, of which it was decided before that they are to be written."""


class RepeatFilter(logging.Filter):
    """Lets a line that is the same but for its arguments through twenty times in ten seconds, and a warning of a library,
    which costs a client nothing, once; and says how many there were in between."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._said: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith(SAMPLED):
            return True
        now, words = self._clock(), str(record.msg)
        alike = (record.name, words)
        began, times = self._said.pop(alike, (now, 0))
        left_out = 0
        if now - began >= SECONDS:
            left_out, began, times = max(0, times - _most(record)), now, 0
        self._said[alike] = (began, times + 1)
        if len(self._said) > MOST_REMEMBERED:
            self._said.pop(next(iter(self._said)))
        if times >= _most(record):
            return False
        if left_out:
            record.msg = f"{words} (and {left_out} more)"
        return True


def _most(record: logging.LogRecord) -> int:
    sparing = record.levelno < logging.ERROR and record.name.startswith(LIBRARIES)
    return 1 if sparing else MOST_ALIKE


logger = logging.getLogger(__name__)
FD = 2
LAST_SECONDS = 0.5
"""What the last lines get at the end of the process."""
LONGEST_LINE = 64 * 1024


class QueuedStderr(io.TextIOBase):
    """Text for a file descriptor, handed over line by line. What has no end yet waits for it, or for `flush`."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._begun = ""
        self._lock = threading.RLock()  # a finaliser that logs can run anywhere
        self.lines = Lines("stderr", partial(write_all, fd), lost=_nobody_reads, found=_say_what_is_missing)

    def write(self, text: str) -> int:
        with self._lock:
            whole, end, rest = (self._begun + text).rpartition("\n")
            self._begun = rest[-LONGEST_LINE:]
        if end:
            self._put(whole + end)
        return len(text)

    def flush(self) -> None:
        """Hands over a line that is not whole, and waits for nothing."""
        with self._lock:
            begun, self._begun = self._begun, ""
        if begun:
            self._put(begun)

    def close(self) -> None:
        """The descriptor stays open: it is the process's."""
        self.flush()
        self.lines.close(LAST_SECONDS)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return os.isatty(self._fd)

    def _put(self, text: str) -> None:
        self.lines.put(text.encode(self.encoding, self.errors))


def never_wait_for_stderr() -> None:
    """Puts it in the place of `sys.stderr`: for a process, once, at its start."""
    sys.stderr = QueuedStderr(FD)
    atexit.register(sys.stderr.close)


def dropped_lines() -> int:
    """Returns how many lines of the log nobody will ever read."""
    return sys.stderr.lines.dropped if isinstance(sys.stderr, QueuedStderr) else 0


def leave(status: int) -> None:
    """Ends the process at once, whatever its threads still wait for; the last lines get their moment."""
    sys.stderr.close()
    os._exit(status)


def _nobody_reads(why: str) -> None:
    """There is nobody to tell: /metrics does."""


def _say_what_is_missing(lines: int) -> None:
    logger.warning("%d lines of this log are missing: stderr was not read as quickly as they came", lines)


class PolledStderr(io.TextIOBase):
    """A pipe that is ready takes what `PIPE_BUF` holds in one piece, and without waiting (pipe(7))."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def write(self, text: str) -> int:
        data = text.encode(self.encoding, self.errors)[: select.PIPE_BUF]
        if select.select([], [FD], [], 0)[1]:
            os.write(FD, data)
        return len(text)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return FD

    def isatty(self) -> bool:
        return os.isatty(FD)


def leave_stderr_to_no_thread() -> None:
    """Ends the thread of `QueuedStderr`, for a process that forks."""
    queued = sys.stderr
    if isinstance(queued, QueuedStderr):
        sys.stderr = PolledStderr()
        queued.close()


OWN_LOGGERS = ("server", "session", "tools", "infra", "manga")


def log_to_stderr(level: str, who: str = "") -> None:
    """stdout belongs to the protocol in stdio mode, and to results in the others. `who` names one of several processes.

    The level is for this server's own loggers, which say nothing of a customer. Libraries write down what they are given,
    order numbers and customers' words included, so of them only warnings are shown, whatever the level."""
    form = f"%(asctime)s %(levelname)s {who and who + ' '}%(name)s %(message)s"
    logging.basicConfig(stream=sys.stderr, format=form, force=True)
    logging.root.handlers[0].addFilter(RepeatFilter())
    logging.root.setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
    for name in OWN_LOGGERS:
        logging.getLogger(name).setLevel(level.upper())
    logging.getLogger("mcp.server.sse").setLevel(logging.CRITICAL)  # it logs a malformed body as an error, with its content
