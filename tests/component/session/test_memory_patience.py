"""Whether a Redis round trip that was cut off counts as slow Redis or as the call's lack of time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from session.begin import BeginRequest
from session.failures import MemoryUnavailable
from session.memory import TRIP_SECONDS, SessionMemory
from session.redis.keyvalue import Command, Reply, Step
from session.resilience.breaker import BreakerPolicy, BreakerState, CircuitBreaker
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import LocalLimits, Rate
from session.turn import TurnKind, TurnName, TurnRequest, Turns
from tests.support.cases import cases
from tests.support.clocks import HandClock

STEPS = [Command(("PING",))]
HURRY = 1 / 128
"""Seconds, less than a trip's, and exact as a binary fraction."""


class Silent:
    """A Redis that never answers: each trip takes all the time it is given."""

    def __init__(self, clock: HandClock) -> None:
        self._clock = clock

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        self._clock.advance(deadline.remaining())
        raise MemoryUnavailable("Redis did not answer in time")

    async def aclose(self) -> None:
        pass


@cases(
    ("seconds", "state"),
    [(HURRY, BreakerState.CLOSED), (TRIP_SECONDS, BreakerState.OPEN), (1.0, BreakerState.OPEN)],
)
async def test_only_a_trip_that_had_its_whole_timeout_counts_as_slow_redis(seconds: float, state: BreakerState) -> None:
    clock = HandClock(0.0)
    breaker = CircuitBreaker("redis", BreakerPolicy(slow_seconds=10), clock)
    turns = Turns(3000, clock)
    memory = SessionMemory(Silent(clock), breaker, turns, None, LocalLimits(Rate(), clock), clock)
    for _ in range(breaker.policy.in_a_row):
        assert not await memory.end(STEPS, seconds)
    assert breaker.state is state


@cases(("left", "waits"), [(2.0, TRIP_SECONDS), (0.25, TRIP_SECONDS / 2)])
async def test_call_of_an_exhausted_turn_waits_half_as_long_for_redis(left: float, waits: float) -> None:
    """It is refused whatever Redis says."""
    clock = HandClock(0.0)
    breaker = CircuitBreaker("redis", BreakerPolicy(slow_seconds=10), clock)
    turns = Turns(3000, clock)
    memory = SessionMemory(Silent(clock), breaker, turns, None, LocalLimits(Rate(), clock), clock)
    request = BeginRequest("s", "u", TurnRequest("key", TurnName(TurnKind.NAMED, "t"), clock()))
    await memory.begin(request)
    clock.now = asked = 3.0 - left
    await memory.begin(request)
    assert clock.now - asked == pytest.approx(waits)
