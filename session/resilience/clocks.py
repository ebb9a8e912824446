"""What time it is. Everything that asks is given its clock by the composition; this is where the real ones are."""

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
    """`monotonic` measures how long things take, `wall` dates what outlives the process. They are this machine's but in
    tests."""

    monotonic: Clock = time.monotonic
    wall: WallClock = time.time

    def now(self) -> datetime:
        """The wall clock's moment."""
        return datetime.fromtimestamp(self.wall(), UTC)
