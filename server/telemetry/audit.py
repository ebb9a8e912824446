"""Who asked for which order, and what became of it: a line each, apart from the log, for whoever has to answer for it."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from server.telemetry.events import CallFinished
from server.telemetry.log_calls import Kind, Repeats
from server.telemetry.log_output import Lines, Written, write_some

OWNER_ONLY = 0o600
OPEN_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class AuditFile:
    """Opened by name again when somebody has moved it away (logrotate), and after every error. A pipe will do as well; as
    long as nobody reads it, writing fails."""

    def __init__(self, path: Path) -> None:
        """Opens it. Raises OSError for a file that cannot be written, or that others can read and will go on to."""
        self._path = path
        self._fd: int | None = None
        self._torn = False
        try:
            self._open()
        except OSError as error:
            if error.errno != errno.ENXIO:  # a pipe whose reader has not come yet
                raise

    def write(self, lines: bytes) -> None:
        """Writes whole lines. Raises OSError; what was begun is then ended by the next write. May block."""
        if self._fd is None or self._moved():
            self._open()
        assert self._fd is not None
        data = b"\n" + lines if self._torn else lines
        sent = 0
        try:
            while sent < len(data):
                sent += write_some(self._fd, data[sent:])
        except OSError:
            self._torn = not data[:sent].endswith(b"\n") if sent else self._torn
            self.close()
            raise
        self._torn = False

    def close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _open(self) -> None:
        self.close()
        fd = os.open(self._path, OPEN_FLAGS, OWNER_ONLY)
        try:
            found = os.fstat(fd)
            if stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) & ~OWNER_ONLY:
                os.fchmod(fd, OWNER_ONLY)  # one that was there before, with what was usual then
        except OSError:
            os.close(fd)
            raise
        self._fd = fd

    def _moved(self) -> bool:
        assert self._fd is not None
        try:
            return not os.path.samestat(self._path.stat(), os.fstat(self._fd))
        except FileNotFoundError:
            return True


logger = logging.getLogger(__name__)
NAME = "manga.audit"
CONFIRM_SECONDS = 0.1
"""What an order may wait for its line to be written; on a disk that is well it takes a millisecond."""
LAST_SECONDS = 1.0
ACCESSES = ("ok", "NOT_FOUND", "cancelled")
"""Outcomes of calls that looked for an order. Each of them has its line, however many there are."""


class AuditSink(Protocol):
    """Takes lines at once. `written` is told, on any thread, what became of one that found room."""

    dropped: int

    def put(self, line: bytes, written: Written | None = None) -> bool: ...


class AuditLog:
    """Lines of the calls of tools that name what an audit may show of their arguments; of the others it says nothing.

    The customer is named by the hash that is used everywhere else, which whoever knows the customer can compute. Of calls
    that were refused before any order was looked for, and are alike, only the first in a minute have a line.
    """

    def __init__(self, sink: AuditSink, *, required: bool = False, repeats: Repeats | None = None) -> None:
        self._sink = sink
        self._repeats = repeats or Repeats()
        self.required = required

    @property
    def dropped(self) -> int:
        return self._sink.dropped

    def record(self, event: CallFinished, written: Written | None = None) -> bool:
        """Tells whether the line found room, or none is wanted."""
        if event.audited is None:
            return True
        if left_out := self._repeats.over():
            self._put({"left_out": left_out})
        if event.outcome not in ACCESSES and not self._repeats.admits(Kind(event.user, event.tool, event.outcome)):
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

    async def written(self, event: CallFinished) -> bool:
        """Tells whether the line is where it belongs, as far as that can be told within 0.1 s."""
        loop = asyncio.get_running_loop()
        known: asyncio.Future[bool] = loop.create_future()

        def settle(written: bool) -> None:
            if not known.done():
                known.set_result(written)

        def tell(written: bool) -> None:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
                loop.call_soon_threadsafe(settle, written)

        if not self.record(event, tell):
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(CONFIRM_SECONDS):
                return await known
        return False

    def close(self) -> None:
        """Says what was left out last."""
        if left_out := self._repeats.rest():
            self._put({"left_out": left_out})

    def _put(self, line: dict[str, object], written: Written | None = None) -> bool:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        text = json.dumps({"at": at, **line}, ensure_ascii=False, separators=(",", ":"))
        return self._sink.put(text.encode("utf-8", "backslashreplace") + b"\n", written)


class _Logger:
    """The log as the audit's place, whatever MANGA_LOG_LEVEL says."""

    dropped = 0

    def __init__(self) -> None:
        self._logger = logging.getLogger(NAME)
        self._logger.setLevel(logging.INFO)

    def put(self, line: bytes, written: Written | None = None) -> bool:
        self._logger.info("%s", line.decode().rstrip("\n"))
        return True


@contextmanager
def audit_sink(path: Path | None) -> Iterator[AuditSink]:
    """Opens the file, written by a thread so that a slow, full or hung disk keeps no call waiting; without one the logger
    "manga.audit". Raises OSError for a file that cannot be written."""
    if path is None:
        yield _Logger()
        return
    file = AuditFile(path)
    lines = Lines("audit", file.write, _lost, _found)
    try:
        yield lines
    finally:
        lines.close(LAST_SECONDS)  # it is not waited for any longer, nor is a file closed under its write


def _lost(why: str) -> None:
    logger.warning("lines of the audit (MANGA_AUDIT_LOG) are lost: %s", why)


def _found(lines: int) -> None:
    logger.warning("the audit is written again; %d lines of it are missing", lines)
