"""The audit log: one line for each access to personal data, separate from the other logs."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import stat
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from server.telemetry.events import CallFinished
from server.telemetry.log_calls import RepeatLimit
from server.telemetry.log_output import Lines, Written, write_some

OWNER_ONLY = 0o600
OPEN_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class AuditFile:
    """The audit file, opened again after a rotation (logrotate) or an error. A pipe without a reader is an error."""

    def __init__(self, path: Path) -> None:
        """Opens the file, and sets mode 0600. Raises OSError if either fails, but not for a pipe without a reader."""
        self._path = path
        self._fd: int | None = None
        self._torn = False
        try:
            self._open()
        except OSError as error:
            if error.errno != errno.ENXIO:  # accepts a pipe that has no reader yet
                raise

    def write(self, lines: bytes) -> None:
        """Writes whole lines; may block. Raises OSError. A partly written line is ended by the next write."""
        fd = self._open() if self._fd is None or self._is_moved(self._fd) else self._fd
        data = b"\n" + lines if self._torn else lines
        sent = 0
        try:
            while sent < len(data):
                sent += write_some(fd, data[sent:])
        except OSError:
            self._torn = not data[:sent].endswith(b"\n") if sent else self._torn
            self.close()
            raise
        self._torn = False

    def close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _open(self) -> int:
        self.close()
        fd = os.open(self._path, OPEN_FLAGS, OWNER_ONLY)
        try:
            found = os.fstat(fd)
            if stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) & ~OWNER_ONLY:
                os.fchmod(fd, OWNER_ONLY)
        except OSError:
            os.close(fd)
            raise
        self._fd = fd
        return fd

    def _is_moved(self, fd: int) -> bool:
        try:
            return not os.path.samestat(self._path.stat(), os.fstat(fd))
        except FileNotFoundError:
            return True


logger = logging.getLogger(__name__)
NAME = "manga.audit"
CONFIRM_SECONDS = 0.1
"""Maximum seconds that a result waits for its audit line to be written, which usually takes a millisecond."""
ACCESSES = ("ok", "NOT_FOUND", "cancelled")
"""Outcomes of calls that may have read an order. Each of these calls has a line, without a limit."""


class AuditLog:
    """Writes a line for each event that has `audited` data. The customer appears as a hash, as in Redis keys. Calls that
    read no order, such as refused ones, have a limited number of lines. If `required`, results wait for their line."""

    def __init__(self, sink: Lines | LoggerLines, *, required: bool = False, repeats: RepeatLimit | None = None) -> None:
        self.sink = sink
        self._repeats = repeats or RepeatLimit()
        self.required = required

    def record(self, event: CallFinished, written: Written | None = None) -> bool:
        """Queues the event's line. Returns False if the queue has no room, and True if the line is queued or none is due.
        `written` is called on the writer's thread with True once the queued line is in the file, or with False if it could
        not be written. Without a file, `written` is never called."""
        if event.audited is None:
            return True
        if left_out := self._repeats.take_expired():
            self._put({"left_out": left_out})
        if event.outcome not in ACCESSES and not self._repeats.allow((event.user, event.tool, event.outcome)):
            return True
        line: dict[str, object] = {
            "call": event.call_id,
            "tool": event.tool,
            "agent": event.agent,
            "user": event.user,
            "what": event.audited,
            "outcome": event.outcome,
            **event.trace,
        }
        return self._put(line, written)

    async def record_and_confirm(self, event: CallFinished) -> bool:
        """Queues the event's line. Returns True once the line is in the file, or False after `CONFIRM_SECONDS`. An event of
        which `record` writes no line always times out."""
        known: Future[bool] = Future()
        known.set_running_or_notify_cancel()  # the future can then not be cancelled by a timeout
        if not self.record(event, known.set_result):
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(CONFIRM_SECONDS):
                return await asyncio.wrap_future(known)
        return False

    def close(self) -> None:
        """Queues a last line with the numbers of lines left out, if there are any."""
        if left_out := self._repeats.take_all():
            self._put({"left_out": left_out})

    def _put(self, line: dict[str, object], written: Written | None = None) -> bool:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        text = json.dumps({"at": at, **line}, ensure_ascii=False, separators=(",", ":"))
        return self.sink.put(text.encode("utf-8", "backslashreplace") + b"\n", written)


class LoggerLines:
    """Writes audit lines to the logger "manga.audit" at level INFO, regardless of MANGA_LOG_LEVEL."""

    dropped = 0

    def __init__(self) -> None:
        self._logger = logging.getLogger(NAME)
        self._logger.setLevel(logging.INFO)

    def put(self, line: bytes, written: Written | None = None) -> bool:
        self._logger.info("%s", line.decode().rstrip("\n"))
        return True


@contextmanager
def audit_sink(path: Path | None) -> Iterator[Lines | LoggerLines]:
    """Opens the audit file during the block. A thread writes it, so that calls do not wait for a slow disk. Without a path,
    the logger "manga.audit" is used. Raises OSError for a file that cannot be written."""
    if path is None:
        yield LoggerLines()
        return
    file = AuditFile(path)
    lost = partial(logger.warning, "lines of the audit (MANGA_AUDIT_LOG) are lost: %s")
    found = partial(logger.warning, "the audit is written again; %d lines of it are missing")
    lines = Lines("audit", file.write, lost, found)
    try:
        yield lines
    finally:
        lines.close(seconds=1.0)  # the file stays open: a write may still be blocked on it
