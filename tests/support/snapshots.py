"""Memory over a Redis that is there, or away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from session.failures import MemoryUnavailable
from session.memory import SessionMemory
from session.redis.keyvalue import KeyValue, Step
from session.resilience.breaker import BreakerPolicy, CircuitBreaker
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import LocalLimits, Rate
from session.turn import Turns


class Away:
    """A Redis that cannot be reached."""

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Any]:
        raise MemoryUnavailable("away")

    async def aclose(self) -> None: ...


def memory_over(redis: KeyValue) -> SessionMemory:
    turns = Turns(3000)
    return SessionMemory(redis, CircuitBreaker("redis", BreakerPolicy(slow_seconds=10)), turns, None, LocalLimits(Rate()))
