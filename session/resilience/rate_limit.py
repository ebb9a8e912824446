"""Token buckets in this process, calculated as in `session/scripts/bucket.lua`."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from session.resilience.clocks import Clock
from session.resilience.lru import Lru

ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Rate:
    """Token bucket of `burst` tokens, refilled at `per_second`. The defaults limit a user, or an anonymous session. Redis
    enforces them (`scripts/limit.lua`, `begin.lua`), and `LocalLimits` while Redis is away."""

    per_second: int = 10
    burst: int = 40

    def scaled(self, number: int) -> Rate:
        return Rate(self.per_second * number, self.burst * number)


class LocalLimits:
    """Rate limits within this process: a token bucket per key, for the `capacity` most recently used keys."""

    def __init__(self, rate: Rate, clock: Clock = time.monotonic, capacity: int = 20_000) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: Lru[str, tuple[float, float]] = Lru(capacity)

    def wait_ms(self, key: str, cost: int = 1) -> int:
        """Takes `cost` tokens (at most `burst`) and returns 0, or takes none and returns the ms until there are enough."""
        now, cost = self._clock(), min(cost, self._rate.burst)
        tokens = self._tokens(key, now)
        wait_ms = self._compute_wait_ms(cost, tokens)
        self._buckets.put(key, (tokens if wait_ms else tokens - cost, now))
        full_since = now - self._rate.burst / self._rate.per_second
        self._buckets.pop_while(lambda bucket: bucket[1] < full_since)  # full again: same as absent
        return wait_ms

    def peek_wait_ms(self, key: str) -> int:
        """Returns the ms until a token is available, 0 if there is one now. Takes no token."""
        return self._compute_wait_ms(1, self._tokens(key, self._clock()))

    def _tokens(self, key: str, now: float) -> float:
        tokens, refilled = self._buckets.use(key) or (float(self._rate.burst), now)
        return min(self._rate.burst, tokens + (now - refilled) * self._rate.per_second)

    def _compute_wait_ms(self, cost: int, tokens: float) -> int:
        return 0 if tokens >= cost - ROUNDING else math.ceil((cost - tokens) / self._rate.per_second * 1000)
