"""An event loop whose time passes only when there is nothing else to do: then it is at once as late as the next timer says.

What is slow on a busy machine takes no time here, and what hangs is given up after exactly as long as it should be, at once.
Work outside of the loop (a thread, a reply of Valkey) is waited for as long as it takes, and no time passes meanwhile. The
idea is that of Trio's autojump clock and of `looptime`, which know nothing of work outside.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from session.resilience.clocks import Clocks
from tests.support.clocks import HandClock

REAL_SECONDS = 1.0
"""After so long it is looked again whether somebody still works outside."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """`clock` is its time, which a test may move on by hand too. `outside` counts what is waited for from outside."""

    def __init__(self) -> None:
        self.clock = HandClock(0.0)  # before any arrival that a real clock tells of, however young the machine is
        self.outside = 0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.clock()

    def run_in_executor(self, *work: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        future: asyncio.Future[Any] = super().run_in_executor(*work)  # type: ignore[assignment]
        self.outside += 1
        future.add_done_callback(self._back)
        return future

    def _back(self, _: object) -> None:
        self.outside -= 1


class _Jumping(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        """`timeout` is how long it is until the next timer; None where there is none."""
        events = super().select(0)
        if events or timeout is None or timeout <= 0:
            return events or (super().select(REAL_SECONDS) if timeout is None else [])
        if self._loop.outside:
            return super().select(REAL_SECONDS)
        self._loop.clock.advance(timeout)
        return []


@contextmanager
def outside() -> Iterator[None]:
    """Marks what waits for a real server: no time passes until it is through."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualTimeLoop):
        yield
        return
    loop.outside += 1
    try:
        yield
    finally:
        loop.outside -= 1


def running_clock() -> HandClock:
    """That of the loop under a test that is marked `virtual_time`."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop), "mark the test with pytest.mark.virtual_time"
    return loop.clock


def clocks_of(clock: HandClock) -> Clocks:
    """Both clocks go with the one in the test's hand; the wall clock shows today's date."""
    started, today = clock(), time.time()
    return Clocks(clock, lambda: today + clock() - started)
