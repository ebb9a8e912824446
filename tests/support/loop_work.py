"""How much is done on the event loop at a stretch, counted and not timed: while it is, nobody else is served."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

_TURN = asyncio.Handle._run.__code__
"""Every callback and every step of a task is run by this, and nothing else of the loop comes in between."""


@dataclass(slots=True)
class LoopWork:
    """`longest` is the most lines of Python that were run between two turns of the loop, each repetition counted; `where`
    the functions in which most of them were."""

    longest: int = 0
    where: dict[str, int] = field(default_factory=dict)
    _lines: int = 0
    _functions: dict[str, int] = field(default_factory=dict)

    def turned(self) -> None:
        if self._lines > self.longest:
            self.longest, self.where = self._lines, self._functions
        self._lines, self._functions = 0, {}

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._lines += 1
            name = frame.f_code.co_qualname
            self._functions[name] = self._functions.get(name, 0) + 1
        elif event == "call" and frame.f_code is _TURN:
            self.turned()
        return self.trace

    def told(self) -> str:
        most = sorted(self.where.items(), key=lambda each: -each[1])[:6]
        return f"{self.longest} lines at a stretch: " + ", ".join(f"{name} {lines}" for name, lines in most)


@contextmanager
def counted() -> Iterator[LoopWork]:
    """Counts this thread alone: what was given to another one holds nobody up."""
    work, before = LoopWork(), sys.gettrace()
    sys.settrace(work.trace)
    try:
        yield work
    finally:
        sys.settrace(before)
        work.turned()
