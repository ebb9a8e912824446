"""How many calls one caller may make: token buckets, the same arithmetic as `scripts/limit.lua`."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from session.deadline import Clock
from session.latest import Latest

ROUNDING = 1e-9
"""Seconds in floating point: a token that is due now is not refused for the last of their digits."""


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_second` calls refill a bucket that holds `burst`."""

    per_second: int = 10
    burst: int = 40


class LocalLimits:
    """Buckets in the process: for addresses, and for everybody while Redis is away. At most `capacity` buckets."""

    def __init__(self, rate: Rate, clock: Clock = time.monotonic, capacity: int = 20_000) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: Latest[str, tuple[float, float]] = Latest(capacity)

    def wait_ms(self, key: str) -> int:
        """Takes a token; 0 when there was one, else the ms until there is."""
        now = self._clock()
        tokens, refilled = self._buckets.peek(key) or (float(self._rate.burst), now)
        tokens = min(self._rate.burst, tokens + (now - refilled) * self._rate.per_second)
        passes = tokens >= 1 - ROUNDING
        self._buckets.put(key, (tokens - 1 if passes else tokens, now))
        return 0 if passes else math.ceil((1 - tokens) / self._rate.per_second * 1000)
