"""What keeps a client from filling the log by being wrong."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

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
