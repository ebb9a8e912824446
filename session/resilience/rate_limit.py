"""How many calls one caller may make: token buckets, the same arithmetic as `scripts/limit.lua`."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from session.resilience.clocks import Clock
from session.resilience.lru import Lru

ROUNDING = 1e-9
"""Seconds in floating point: a token that is due now is not refused for the last of their digits."""


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_second` calls refill a bucket that holds `burst`."""

    per_second: int = 10
    burst: int = 40

    def times(self, number: int) -> Rate:
        """For as many callers together."""
        return Rate(self.per_second * number, self.burst * number)


class LocalLimits:
    """Buckets in the process: for addresses, for refusals, and for everybody while Redis is away. At most `capacity`: those
    that were asked for last."""

    def __init__(self, rate: Rate, clock: Clock = time.monotonic, capacity: int = 20_000) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: Lru[str, tuple[float, float]] = Lru(capacity)

    def wait_ms(self, key: str, cost: int = 1) -> int:
        """Takes so many tokens, at most all that a bucket holds; 0 when there were as many, else the ms until there are."""
        now, cost = self._clock(), min(cost, self._rate.burst)
        tokens = self._tokens(key, now)
        wait_ms = self._until(cost, tokens)
        self._buckets.put(key, (tokens if wait_ms else tokens - cost, now))
        return wait_ms

    def next_ms(self, key: str) -> int:
        """What `wait_ms` would say now, without taking a token."""
        return self._until(1, self._tokens(key, self._clock()))

    def _tokens(self, key: str, now: float) -> float:
        tokens, refilled = self._buckets.use(key) or (float(self._rate.burst), now)
        return min(self._rate.burst, tokens + (now - refilled) * self._rate.per_second)

    def _until(self, cost: int, tokens: float) -> int:
        return 0 if tokens >= cost - ROUNDING else math.ceil((cost - tokens) / self._rate.per_second * 1000)
