"""What the main thread is doing, looked at while processor time passes (statistical profiling; setitimer(2), ITIMER_PROF), so
that waiting is not counted.

A signal and not a thread that looks: a thread gets to look where the other gives up the interpreter's lock, which is at
sockets and in C, and what was done before would be counted there.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

Stack = tuple[str, ...]
EVERY_SECONDS = 0.001
"""Of processor time; Linux makes whole ticks of it, which may be 4 ms."""


class Samples:
    """How often each stack was seen, outermost function first."""

    def __init__(self) -> None:
        self.stacks: Counter[Stack] = Counter()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Looks for as long as the block lasts."""
        self.begin()
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def begin(self) -> None:
        """Looks until the process ends."""
        signal.signal(signal.SIGPROF, self._look)
        signal.siginterrupt(signal.SIGPROF, False)
        signal.setitimer(signal.ITIMER_PROF, EVERY_SECONDS, EVERY_SECONDS)

    def _look(self, _: int, frame: FrameType | None) -> None:
        self.stacks[stack_of(frame)] += 1


def stack_of(frame: FrameType | None) -> Stack:
    names = []
    while frame is not None:
        module = frame.f_globals.get("__name__", "?")
        names.append(f"{module}:{frame.f_code.co_qualname}")
        frame = frame.f_back
    return tuple(reversed(names))


class OneThread(asyncio.SelectorEventLoop):
    """Does at once what is for other threads, so that it is seen as well."""

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done
