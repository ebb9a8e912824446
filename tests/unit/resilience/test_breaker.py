"""The circuit breaker, by the test's clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.resilience.breaker import BreakerPolicy, BreakerState, CircuitBreaker
from tests.support.clocks import HandClock

CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def breaker(clock: HandClock) -> CircuitBreaker:
    """Without jitter: it rests 0.5, 1, 2, 3, 3 … seconds."""
    return CircuitBreaker("it", BreakerPolicy(slow_seconds=0.1), clock, jitter=lambda: 0.5)


def call(breaker: CircuitBreaker, how: str = "well") -> bool:
    """One call from beginning to end; whether it was let through."""
    if not breaker.allow_call():
        return False
    report(breaker, how, breaker.era)
    return True


def report(breaker: CircuitBreaker, how: str, era: int) -> None:
    match how:
        case "well":
            breaker.record_success(0.01, era)
        case "slow":
            breaker.record_success(0.1, era)
        case "bad":
            breaker.record_failure(era)
        case _:
            breaker.record_ignored(era)


def trip(breaker: CircuitBreaker) -> None:
    for _ in range(5):
        call(breaker, "bad")
    assert breaker.state is OPEN


@pytest.mark.parametrize("how", ["bad", "slow"])
def test_breaker_opens_after_five_failed_or_slow_calls_in_a_row(breaker: CircuitBreaker, how: str) -> None:
    for _ in range(4):
        assert call(breaker, how)
    call(breaker)
    for _ in range(4):
        call(breaker, how)
    assert breaker.state is CLOSED
    call(breaker, how)
    assert breaker.state is OPEN
    assert not breaker.allow_call()
    assert breaker.retry_after_ms() == 500


def test_breaker_opens_when_half_of_ten_calls_fail(breaker: CircuitBreaker) -> None:
    for how in ("well", "bad") * 4:
        call(breaker, how)
    assert breaker.state is CLOSED, "eight calls say little"
    call(breaker, "well")
    assert breaker.state is CLOSED
    call(breaker, "bad")
    assert breaker.state is OPEN


def test_successful_call_never_opens_the_breaker(breaker: CircuitBreaker) -> None:
    for how in ("bad", "bad", "well", "bad", "bad", "well", "bad"):
        call(breaker, how)
    for _ in range(3):
        call(breaker)
        assert breaker.state is CLOSED


def test_calls_before_the_window_do_not_count(breaker: CircuitBreaker, clock: HandClock) -> None:
    for how in ("bad", "well") * 4:
        call(breaker, how)
    clock.advance(10.1)
    for how in ("well", "well", "bad", "well") * 5:
        call(breaker, how)
    assert breaker.state is CLOSED


def test_ignored_calls_neither_count_as_success_nor_as_failure(breaker: CircuitBreaker) -> None:
    for _ in range(4):
        call(breaker, "bad")
    for _ in range(50):
        call(breaker, "nothing")
    assert breaker.state is CLOSED
    call(breaker, "bad")
    assert breaker.state is OPEN


def test_open_breaker_admits_single_probes_and_closes_after_two_successes(breaker: CircuitBreaker, clock: HandClock) -> None:
    trip(breaker)
    clock.advance(0.5)
    assert breaker.state is HALF_OPEN
    assert breaker.allow_call()
    assert not breaker.allow_call(), "a second probe at the same time"
    breaker.record_success(0.01, breaker.era)
    assert breaker.state is HALF_OPEN
    assert call(breaker)
    assert breaker.state is CLOSED
    assert breaker.retry_after_ms() == 1


@pytest.mark.parametrize("how", ["bad", "slow"])
def test_failed_probe_reopens_the_breaker_for_longer_up_to_a_limit(
    breaker: CircuitBreaker, clock: HandClock, how: str
) -> None:
    trip(breaker)
    rests = []
    for _ in range(6):
        rests.append(breaker.retry_after_ms())
        clock.advance(breaker.retry_after_ms() / 1000)
        assert call(breaker, how)
        assert breaker.state is OPEN
    assert rests == [500, 1000, 1500, 1500, 1500, 1500]


def test_outage_keeps_its_start_time_through_failed_probes(breaker: CircuitBreaker, clock: HandClock) -> None:
    clock.advance(60)
    assert (breaker.state, clock() - breaker.since) == (CLOSED, 60)
    trip(breaker)
    for _ in range(4):
        clock.advance(2)
        assert call(breaker, "bad")
    assert (breaker.state, clock() - breaker.since) == (OPEN, 8)
    clock.advance(2)
    assert call(breaker)
    assert (breaker.state, clock() - breaker.since) == (HALF_OPEN, 10)
    assert call(breaker)
    assert (breaker.state, clock() - breaker.since) == (CLOSED, 0)


def test_ignored_probe_makes_room_for_another(breaker: CircuitBreaker, clock: HandClock) -> None:
    trip(breaker)
    clock.advance(0.5)
    assert call(breaker, "nothing")
    assert breaker.state is HALF_OPEN
    assert call(breaker)
    assert call(breaker)
    assert breaker.state is CLOSED


def test_breaker_that_closed_reopens_with_the_shortest_pause(breaker: CircuitBreaker, clock: HandClock) -> None:
    trip(breaker)
    clock.advance(0.5)
    call(breaker, "bad")
    clock.advance(1.0)
    call(breaker)
    call(breaker)
    trip(breaker)
    assert breaker.retry_after_ms() == 500


@pytest.mark.parametrize("late", ["well", "slow", "bad", "nothing"])
def test_outcome_of_a_call_from_before_the_opening_does_not_end_the_probe(
    breaker: CircuitBreaker, clock: HandClock, late: str
) -> None:
    """Fifty calls hang; the first five that time out open it; the others end while a probe is out."""
    assert all(breaker.allow_call() for _ in range(50))
    before = breaker.era
    for _ in range(5):
        breaker.record_failure(before)
    clock.advance(0.5)
    assert breaker.allow_call()
    for _ in range(45):
        report(breaker, late, before)
    assert breaker.state is HALF_OPEN
    assert not breaker.allow_call(), "the probe is out still"
    breaker.record_success(0.01, breaker.era)
    assert call(breaker)
    assert breaker.state is CLOSED


def test_listener_is_told_of_open_half_open_and_closed(clock: HandClock) -> None:
    told: list[BreakerState] = []
    breaker = CircuitBreaker("it", BreakerPolicy(0.1), clock, lambda: 0.5, lambda name, state, why: told.append(state))
    trip(breaker)
    clock.advance(0.5)
    call(breaker)
    call(breaker)
    assert told == [OPEN, HALF_OPEN, CLOSED]


@given(jitter=st.floats(0, 1))
def test_pause_of_an_open_breaker_is_jittered_by_a_quarter(jitter: float) -> None:
    clock = HandClock()
    breaker = CircuitBreaker("it", BreakerPolicy(0.1), clock, lambda: jitter)
    trip(breaker)
    assert 375 <= breaker.retry_after_ms() <= 625


@given(history=st.lists(st.tuples(st.sampled_from(["well", "slow", "bad", "nothing"]), st.floats(0, 4)), max_size=80))
def test_breaker_closes_within_3_75_s_of_any_history_once_the_backend_is_healthy(history: list[tuple[str, float]]) -> None:
    clock = HandClock()
    breaker = CircuitBreaker("it", BreakerPolicy(0.1), clock)
    for how, pause in history:
        clock.advance(pause)
        call(breaker, how)
    clock.advance(3.75)
    assert call(breaker)
    assert call(breaker)
    assert breaker.state is CLOSED
