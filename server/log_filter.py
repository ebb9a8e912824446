"""What keeps a client from filling the log by being wrong."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

LIBRARIES = ("uvicorn", "mcp", "asyncio")
SECONDS = 10.0
MOST_REMEMBERED = 100


class Sparing(logging.Filter):
    """Lets the same warning of a library through once in ten seconds, and says how many there were in between. They are
    about requests that are no HTTP and messages that are no MCP, which cost their sender nothing."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._said: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.ERROR or not record.name.startswith(LIBRARIES):
            return True
        now, words = self._clock(), str(record.msg)
        last, left_out = self._said.pop(words, (-SECONDS, 0))
        if now - last < SECONDS:
            self._said[words] = (last, left_out + 1)
            return False
        self._said[words] = (now, 0)
        if len(self._said) > MOST_REMEMBERED:
            self._said.pop(next(iter(self._said)))
        if left_out:
            record.msg = f"{words} (and {left_out} more)"
        return True
