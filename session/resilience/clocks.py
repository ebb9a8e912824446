"""Clocks, injected by the composition root so that tests can set them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

Clock = Callable[[], float]
"""Seconds of a monotonic clock."""
WallClock = Callable[[], float]
"""Seconds since the epoch."""
Now = Callable[[], datetime]
"""A moment, with its time zone."""


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Clocks:
    """The two clocks: `monotonic` measures durations; `wall` dates what outlives the process."""

    monotonic: Clock = time.monotonic
    wall: WallClock = time.time

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.wall(), UTC)
