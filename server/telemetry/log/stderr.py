"""`sys.stderr` that nobody ever waits for.

A pipe takes 64 KiB and then blocks whoever writes until somebody reads: a paused terminal, a log driver that is behind, or a
parent that never looks would stop every call, and the signal that ends the process with them. All that is written to
`sys.stderr`, log lines, tracebacks and warnings alike, goes through a bounded queue to a thread instead.
"""

from __future__ import annotations

import atexit
import io
import logging
import os
import sys
import threading
from functools import partial

from server.telemetry.log.lines import Lines, write_all

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
