"""Memory over a Redis that is there, or away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from session.breaker import Breaker, BreakerPolicy
from session.deadline import Deadline
from session.failures import MemoryUnavailable
from session.keyvalue import KeyValue, Step
from session.limits import LocalLimits, Rate
from session.memory import SessionMemory
from session.turn import TurnArithmetic, TurnShadows


class Away:
    """A Redis that cannot be reached."""

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Any]:
        raise MemoryUnavailable("away")

    async def aclose(self) -> None: ...


def memory_over(redis: KeyValue) -> SessionMemory:
    turns = TurnArithmetic(3000, TurnShadows())
    return SessionMemory(redis, Breaker("redis", BreakerPolicy(slow_seconds=10)), turns, None, LocalLimits(Rate()))
