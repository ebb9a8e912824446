"""When a breaker opens, how long it stays open and what its failure states."""

from __future__ import annotations

from session.resilience.breaker import BreakerPolicy, BreakerState, CircuitBreaker
from tests.support.cases import cases
from tests.support.clocks import HandClock

CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN


def rested(jitter: float, failed_probes: int = 0) -> int:
    """The ms that a breaker rests which opens after so many probes that failed."""
    clock = HandClock(0.0)
    breaker = CircuitBreaker("it", BreakerPolicy(0.1), clock, lambda: jitter)
    for _ in range(5):
        assert breaker.allow_call()
        breaker.record_failure(breaker.era)
    for _ in range(failed_probes):
        clock.advance(10)
        assert breaker.allow_call()
        breaker.record_failure(breaker.era)
    return breaker.retry_after_ms()


@cases(("failed_probes", "ms"), [(0, 500), (1, 1000), (2, 1500), (3, 1500), (30, 1500)])
def test_each_failed_probe_doubles_the_pause_up_to_the_limit(failed_probes: int, ms: int) -> None:
    assert rested(0.5, failed_probes) == ms


@cases(("jitter", "ms"), [(0.0, 375), (0.5, 500), (1.0, 625)])
def test_pause_is_jittered_from_minus_to_plus_a_quarter(jitter: float, ms: int) -> None:
    assert rested(jitter) == ms


def test_retry_after_is_the_rest_of_the_pause_and_at_least_1_ms() -> None:
    clock = HandClock(0.0)
    breaker = CircuitBreaker("it", BreakerPolicy(0.1), clock, lambda: 0.5)
    assert breaker.retry_after_ms() == 1, "closed"
    for _ in range(5):
        breaker.record_failure(breaker.era)
    clock.advance(0.125)
    assert breaker.retry_after_ms() == 375
    clock.advance(10)
    assert breaker.retry_after_ms() == 1


def test_breaker_admits_a_probe_from_the_end_of_its_pause_on() -> None:
    clock = HandClock(0.0)
    breaker = CircuitBreaker("it", BreakerPolicy(0.1), clock, lambda: 0.5)
    for _ in range(5):
        breaker.record_failure(breaker.era)
    clock.advance(0.5 - 2**-20)
    assert (breaker.state, breaker.allow_call()) == (OPEN, False)
    clock.advance(2**-20)
    assert (breaker.state, breaker.allow_call()) == (HALF_OPEN, True)


@cases(("seconds", "state"), [(0.0999, CLOSED), (0.1, OPEN), (5.0, OPEN)])
def test_answer_is_slow_from_the_limit_in_seconds_on(seconds: float, state: BreakerState) -> None:
    breaker = CircuitBreaker("it", BreakerPolicy(slow_seconds=0.1), HandClock())
    for _ in range(5):
        breaker.record_success(seconds, breaker.era)
    assert breaker.state is state


@cases(
    ("calls", "state"),
    [("gbgbgbgbgb", OPEN), ("ggbgbgbggb", CLOSED), ("ggbgbgbgbgb", CLOSED), ("gbgbgbgb", CLOSED), ("gbgbgbgbb", CLOSED)],
)
def test_breaker_opens_at_half_of_at_least_ten_calls(calls: str, state: BreakerState) -> None:
    """The calls contain successes, and never five failures in a row."""
    breaker = CircuitBreaker("it", BreakerPolicy(0.1), HandClock())
    for each in calls:
        if each == "b":
            breaker.record_failure(breaker.era)
        else:
            breaker.record_success(0.0, breaker.era)
    assert breaker.state is state


@cases(("later", "state"), [(10.0, OPEN), (10.001, CLOSED)])
def test_call_counts_in_the_window_for_ten_seconds(later: float, state: BreakerState) -> None:
    """Five successes and four failures, and then one more failure, make half of ten."""
    clock = HandClock(0.0)
    breaker = CircuitBreaker("it", BreakerPolicy(0.1), clock)
    for _ in range(4):
        breaker.record_failure(breaker.era)
        breaker.record_success(0.0, breaker.era)
    breaker.record_success(0.0, breaker.era)
    clock.advance(later)
    breaker.record_failure(breaker.era)
    assert breaker.state is state


def test_failures_from_before_the_window_do_not_count_among_later_calls() -> None:
    """Failures that have left the window have no weight among later calls."""
    clock = HandClock(0.0)
    breaker = CircuitBreaker("it", BreakerPolicy(0.1), clock)
    for _ in range(4):
        breaker.record_failure(breaker.era)
    clock.advance(11)
    for _ in range(4):
        breaker.record_success(0.0, breaker.era)
        breaker.record_failure(breaker.era)
    breaker.record_success(0.0, breaker.era)
    breaker.record_success(0.0, breaker.era)
    assert breaker.state is CLOSED


def test_listener_is_told_the_reason_of_the_last_failure() -> None:
    told: list[tuple[str, BreakerState, str]] = []
    clock = HandClock(0.0)
    breaker = CircuitBreaker("it", BreakerPolicy(0.1), clock, lambda: 0.5, lambda *change: told.append(change))
    for why in ("one", "one", "one", "one", "last"):
        breaker.record_failure(breaker.era, why)
    clock.advance(0.5)
    breaker.allow_call()
    breaker.record_success(0.0, breaker.era)
    breaker.allow_call()
    breaker.record_success(0.2, breaker.era)
    assert told == [("it", OPEN, "last"), ("it", HALF_OPEN, "last"), ("it", OPEN, "slow answers")]


def test_ignored_probe_frees_exactly_one_slot() -> None:
    clock = HandClock(0.0)
    breaker = CircuitBreaker("it", BreakerPolicy(0.1), clock, lambda: 0.5)
    for _ in range(5):
        breaker.record_failure(breaker.era)
    clock.advance(0.5)
    assert breaker.allow_call()
    breaker.record_ignored(breaker.era)
    assert [breaker.allow_call() for _ in range(3)] == [True, False, False]
