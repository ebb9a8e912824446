"""The guard of a backend judges an attempt that was cut off, and decides on the retry."""

from __future__ import annotations

import pytest

from session.resilience.breaker import BreakerState
from session.resilience.deadline import Deadline, RetryPolicy
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tools.store.failures import CircuitOpen, DependencyFailure, Throttled, TimedOut
from tools.store.guarded import AttemptTime, Backend, BackendPolicy


@cases(
    ("given", "had", "left", "tells"),
    [
        (2.0, 1.0, False, True),  # slow already
        (2.0, 1.0, True, True),
        (2.0, 0.5, False, True),  # most of what it takes to be slow
        (2.0, 0.4375, False, False),  # a caller in a hurry
        (2.0, 0.5, True, False),  # whoever left did so early
        (0.625, 0.5625, True, True),  # it was over anyway
        (0.625, 0.5, True, False),
        (0.25, 3.0, False, False),  # what it had beyond what it was given was this process
    ],
)
def test_cancelled_attempt_counts_as_slow_only_after_enough_of_its_time(
    given: float, had: float, left: bool, tells: bool
) -> None:
    policy = BackendPolicy(slow_seconds=1.0, attempt_seconds=2.0, telling_share=0.5)
    assert policy.shows_slowness(given, had, left=left) is tells
    usual = BackendPolicy(slow_seconds=1.0, attempt_seconds=2.0)
    assert [usual.shows_slowness(2.0, had, left=False) for had in (0.79, 0.8)] == [False, True]


def test_time_waiting_for_a_bulkhead_slot_is_not_time_of_the_attempt() -> None:
    clock = HandClock(100.0)
    spent = AttemptTime(clock, 9.0)
    clock.advance(1)
    assert spent.used() == 0.0
    spent.begin(Deadline(104.0, clock))
    clock.advance(2)
    assert (spent.used(), spent.limit) == (2.0, 3.0)


async def refused_after(backend: Backend, failures: int) -> CircuitOpen:
    async def down(_: Deadline) -> None:
        raise DependencyFailure("down")

    for _ in range(failures):
        with pytest.raises(DependencyFailure):
            await backend.call(down, Deadline.after(60))
    with pytest.raises(CircuitOpen) as told:
        await backend.call(down, Deadline.after(60))
    return told.value


ONCE = RetryPolicy(attempts=1)


async def test_call_refused_during_a_probe_may_retry_after_an_attempt() -> None:
    clock = HandClock(0.0)
    backend = Backend("it", BackendPolicy(0.15, 0.25, retry=ONCE), clock)
    told = await refused_after(backend, 5)
    assert 375 <= (told.retry_after_ms or 0) <= 625
    clock.advance(1)
    assert backend.breaker.allow_call(), "the probe"
    assert (await refused_after(backend, 0)).retry_after_ms == 250


async def test_failure_that_opens_the_breaker_has_its_pause_as_retry_after() -> None:
    backend = Backend("it", BackendPolicy(0.15, 0.25, retry=ONCE), HandClock(0.0))

    async def down(_: Deadline) -> None:
        raise DependencyFailure("down")

    told = []
    for _ in range(5):
        with pytest.raises(DependencyFailure) as failure:
            await backend.call(down, Deadline.after(60))
        told.append(failure.value.retry_after_ms)
    assert told[:4] == [DependencyFailure("down").retry_after_ms] * 4
    assert backend.breaker.state is BreakerState.OPEN
    assert 375 <= told[4] <= 625


async def test_longer_retry_after_of_the_backend_is_kept() -> None:
    backend = Backend("it", BackendPolicy(0.15, 0.25, retry=ONCE), HandClock(0.0))

    async def throttled(_: Deadline) -> None:
        raise Throttled("slower", retry_after_ms=5000)

    for _ in range(5):
        with pytest.raises(Throttled) as told:
            await backend.call(throttled, Deadline.after(60))
    assert backend.breaker.state is BreakerState.OPEN
    assert told.value.retry_after_ms == 5000


async def test_second_attempt_needs_more_time_than_the_shortest_pause() -> None:
    """By the deadline's clock, the time left has to exceed the shortest pause."""
    clock = HandClock(0.0)
    for left, made in ((0.5, 1), (0.625, 2)):
        attempts = 0

        async def down(_: Deadline) -> None:
            nonlocal attempts
            attempts += 1
            raise DependencyFailure("down")

        policy = BackendPolicy(100.0, 100.0, retry=RetryPolicy(attempts=2, base=0.5, longest=0.0))
        with pytest.raises(DependencyFailure):
            await Backend("it", policy, clock).call(down, Deadline(left, clock))
        assert attempts == made


async def test_network_error_past_an_adapter_becomes_a_dependency_failure() -> None:
    for error in (OSError("10.0.0.1"), EOFError()):

        async def broken(_: Deadline, error: Exception = error) -> None:
            raise error

        with pytest.raises(DependencyFailure, match="The it backend cannot be reached") as told:
            await Backend("it", BackendPolicy(1, 1, retry=ONCE)).call(broken, Deadline.after(60))
        assert told.value.dependency == "it"


async def test_attempt_ends_at_its_own_timeout_before_the_callers_deadline() -> None:
    async def late(attempt: Deadline) -> float:
        return attempt.remaining()

    clock = HandClock(0.0)
    assert await Backend("it", BackendPolicy(1, 0.25), clock).call(late, Deadline(60.0, clock)) == 0.25
    with pytest.raises(TimedOut, match="no time left"):
        await Backend("it", BackendPolicy(1, 0.25), clock).call(late, Deadline(0.0, clock))
