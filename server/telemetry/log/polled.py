"""`sys.stderr` of a process without threads: a line that is not taken at once is dropped."""

from __future__ import annotations

import io
import os
import select
import sys

from server.telemetry.log.stderr import FD, QueuedStderr


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
