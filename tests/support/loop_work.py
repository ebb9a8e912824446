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
SAMPLE = 64
"""Of so many lines one tells which function it is in: to note each would take as long again as to count them."""


@dataclass(slots=True)
class LoopWork:
    """`longest` is the most lines of Python that were run between two turns of the loop, each repetition counted; `where`
    the functions in which most of them were, as far as samples tell. `total` are all lines."""

    longest: int = 0
    total: int = 0
    where: dict[str, int] = field(default_factory=dict)

    def ran(self, lines: int, functions: dict[str, int]) -> None:
        self.total += lines
        if lines > self.longest:
            self.longest, self.where = lines, functions

    def told(self) -> str:
        most = sorted(self.where.items(), key=lambda each: -each[1])[:6]
        return f"{self.longest} lines at a stretch: " + ", ".join(f"{name} {lines}" for name, lines in most)


@contextmanager
def counted() -> Iterator[LoopWork]:
    """Counts this thread alone: what was given to another one holds nobody up."""
    work, before = LoopWork(), sys.gettrace()
    lines, functions = 0, dict[str, int]()

    def inside(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            if not lines % SAMPLE:
                name = frame.f_code.co_qualname
                functions[name] = functions.get(name, 0) + SAMPLE
        return inside

    def called(frame: FrameType, _: str, __: Any) -> Any:
        if frame.f_code is _TURN:
            turned()
        return inside

    def turned() -> None:
        nonlocal lines, functions
        work.ran(lines, functions)
        lines, functions = 0, {}

    sys.settrace(called)
    try:
        yield work
    finally:
        sys.settrace(before)
        turned()
