"""What the guard of a backend says of an attempt that was cut off, and when it asks again."""

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
def test_an_attempt_cut_off_says_something_when_it_had_its_time(given: float, had: float, left: bool, tells: bool) -> None:
    policy = BackendPolicy(slow_seconds=1.0, attempt_seconds=2.0, telling_share=0.5)
    assert policy.shows_slowness(given, had, left=left) is tells


def test_an_attempt_has_had_nothing_while_it_waits_for_a_place() -> None:
    clock = HandClock(100.0)
    spent = AttemptTime(clock, 9.0)
    clock.advance(1)
    assert spent.had() == 0.0
    spent.begin(Deadline(104.0, clock))
    clock.advance(2)
    assert (spent.had(), spent.given) == (2.0, 3.0)


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


async def test_while_a_probe_is_out_others_are_told_to_come_back_after_an_attempt() -> None:
    clock = HandClock(0.0)
    backend = Backend("it", BackendPolicy(0.15, 0.25, retry=ONCE), clock)
    told = await refused_after(backend, 5)
    assert 375 <= (told.retry_after_ms or 0) <= 625
    clock.advance(1)
    assert backend.breaker.allow_call(), "the probe"
    assert (await refused_after(backend, 0)).retry_after_ms == 250


async def test_the_failure_that_opens_the_breaker_says_when_to_come_back() -> None:
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


async def test_a_longer_wait_that_the_backend_itself_asks_for_is_kept() -> None:
    backend = Backend("it", BackendPolicy(0.15, 0.25, retry=ONCE), HandClock(0.0))

    async def throttled(_: Deadline) -> None:
        raise Throttled("slower", retry_after_ms=5000)

    for _ in range(5):
        with pytest.raises(Throttled) as told:
            await backend.call(throttled, Deadline.after(60))
    assert backend.breaker.state is BreakerState.OPEN
    assert told.value.retry_after_ms == 5000


async def test_a_second_attempt_is_made_only_where_it_has_more_than_a_pause_left() -> None:
    """By the deadline's own clock: what is left after the pause has to be more than the shortest pause."""
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


async def test_what_the_network_says_past_an_adapter_is_told_as_a_failure() -> None:
    for error in (OSError("10.0.0.1"), EOFError()):

        async def broken(_: Deadline, error: Exception = error) -> None:
            raise error

        with pytest.raises(DependencyFailure, match="The it backend cannot be reached") as told:
            await Backend("it", BackendPolicy(1, 1, retry=ONCE)).call(broken, Deadline.after(60))
        assert told.value.dependency == "it"


async def test_an_attempt_ends_with_its_own_time_though_the_caller_has_more() -> None:
    async def late(attempt: Deadline) -> float:
        return attempt.remaining()

    clock = HandClock(0.0)
    assert await Backend("it", BackendPolicy(1, 0.25), clock).call(late, Deadline(60.0, clock)) == 0.25
    with pytest.raises(TimedOut, match="no time left"):
        await Backend("it", BackendPolicy(1, 0.25), clock).call(late, Deadline(0.0, clock))
