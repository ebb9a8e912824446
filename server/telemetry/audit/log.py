"""Who asked for which order, and what became of it: a line each, apart from the log, for whoever has to answer for it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from server.telemetry.audit.file import AuditFile
from server.telemetry.events import CallFinished
from server.telemetry.log.lines import Lines, Written
from server.telemetry.log.repeats import Kind, Repeats

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
