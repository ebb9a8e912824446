"""Breakers brought into a state the way their callers do it: by what they report."""

from __future__ import annotations

import asyncio

from session.resilience.breaker import BreakerPolicy, BreakerState, CircuitBreaker
from tests.support.clocks import HandClock


def trip(breaker: CircuitBreaker) -> None:
    """Failures until it is open."""
    while breaker.state is not BreakerState.OPEN:
        assert breaker.allow_call()
        breaker.record_failure(breaker.era)


def breakers(**states: BreakerState) -> list[CircuitBreaker]:
    """By name, each in that state."""
    return [_in_state(name, state) for name, state in states.items()]


def _in_state(name: str, state: BreakerState) -> CircuitBreaker:
    clock = HandClock()
    own = CircuitBreaker(name, BreakerPolicy(1.0), clock)
    if state is not BreakerState.CLOSED:
        trip(own)
    if state is BreakerState.HALF_OPEN:
        clock.advance(own.policy.longest)
    assert own.state is state
    return own


async def until_probed(breaker: CircuitBreaker) -> None:
    """Waits, by the loop's clock, until an open one would let a probe through."""
    while breaker.state is BreakerState.OPEN:
        await asyncio.sleep(breaker.retry_after_ms() / 1000)


async def mend(breaker: CircuitBreaker) -> None:
    """Good answers until it is closed, and enough more that what was bad before counts for nothing."""
    await until_probed(breaker)
    while breaker.state is not BreakerState.CLOSED:
        assert breaker.allow_call()
        breaker.record_success(0.0, breaker.era)
    for _ in range(breaker.policy.least_calls):
        breaker.record_success(0.0, breaker.era)
