"""Clocks, which the composition root passes in so that tests can set them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

Clock = Callable[[], float]
"""Returns seconds of a monotonic clock."""
WallClock = Callable[[], float]
"""Returns seconds since the epoch."""
Now = Callable[[], datetime]
"""Returns the current time with its time zone."""


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Clocks:
    """Two clocks: `monotonic` for durations, `wall` for timestamps that outlive the process."""

    monotonic: Clock = time.monotonic
    wall: WallClock = time.time

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.wall(), UTC)
