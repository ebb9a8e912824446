"""Who asked for which order, and what became of it: a line each, apart from the log, for whoever has to answer for it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener
from pathlib import Path
from queue import SimpleQueue

from server.telemetry.events import CallFinished

NAME = "manga.audit"
FILE_MODE = 0o600


class AuditLog:
    """A sink for calls of tools that name what an audit may show of their arguments; of the others it says nothing.

    The customer is named by the hash that is used everywhere else, which whoever knows the customer can compute.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def __call__(self, event: CallFinished) -> None:
        if event.audited is None:
            return
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "call": event.call_id,
            "tool": event.tool,
            "agent": event.agent,
            "user": event.user,
            "what": event.audited,
            "outcome": event.outcome,
        }
        self._write(json.dumps(line, ensure_ascii=False, separators=(",", ":")))


@contextmanager
def audit_lines(path: Path | None) -> Iterator[Callable[[str], None]]:
    """What takes the lines: the file, which only its owner can read, written by a thread so that a slow disk keeps no call
    waiting; without one the logger "manga.audit", whatever MANGA_LOG_LEVEL says. Raises OSError for a file that cannot be
    written."""
    logger = logging.getLogger(NAME)
    logger.setLevel(logging.INFO)
    if path is None:
        yield lambda line: logger.info("%s", line)
        return
    path.touch(FILE_MODE)
    lines: SimpleQueue[logging.LogRecord] = SimpleQueue()
    listener = QueueListener(lines, logging.FileHandler(path, encoding="utf-8"))
    handler = QueueHandler(lines)
    logger.addHandler(handler)
    logger.propagate = False
    listener.start()
    try:
        yield lambda line: logger.info("%s", line)
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
        listener.stop()  # which writes what is still in the queue
        for each in listener.handlers:
            each.close()
