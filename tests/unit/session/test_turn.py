"""The state of a turn in one process; turns over Redis are tested in the contract suite."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from session.resilience.deadline import Deadline
from session.turn import IMPLICIT, LocalTurn, LocalTurns, Turn, TurnArithmetic, TurnKind, TurnName, TurnRequest
from tests.support.cases import cases
from tests.support.clocks import HandClock

NAMED = TurnName(TurnKind.NAMED, "t")


def turn_with(left_ms: int) -> Turn:
    return Turn(NAMED, 3000, Deadline.after((left_ms + 200) / 1000, HandClock(0.0)))


@cases(
    ("left", "timeout", "expected", "allowed"),
    [
        (2800, 800, 1, 800),
        (2800, 5000, 1, 2750),
        (2800, 800, 4, 700),
        (2800, 800, 100, 100),
        (2800, 60, 100, 60),
        (120, 800, 1, 70),
        (120, 800, 10, 70),
        (100, 800, 1, 50),
        (40, 800, 1, 0),
        (0, 800, 1, 0),
        (2800, 800, 0, 800),
    ],
)
def test_allowance_is_a_fair_share_within_the_tool_timeout_and_the_turn(
    left: int, timeout: int, expected: int, allowed: int
) -> None:
    assert turn_with(left).allowance_ms(timeout, expected) == allowed


@given(left=st.integers(0, 60_000), timeout=st.integers(1, 10_000), expected=st.integers(-5, 200))
def test_allowance_never_exceeds_the_rest_of_the_turn_minus_the_fallback_share(
    left: int, timeout: int, expected: int
) -> None:
    assert 0 <= turn_with(left).allowance_ms(timeout, expected) <= max(0, min(timeout, left - 50))


@cases(("left", "exhausted"), [(0, True), (100, True), (101, False)])
def test_turn_with_100_ms_or_less_left_is_exhausted(left: int, exhausted: bool) -> None:
    assert turn_with(left).exhausted is exhausted


def test_local_copies_of_turns_expire_and_are_bounded() -> None:
    clock = HandClock(0.0)
    shadows = LocalTurns(clock, capacity=2)
    for key in ("a", "b", "c"):
        shadows.keep(key, LocalTurn(0.0, 3.0, 3000))
    assert shadows.live("a", NAMED) is None
    assert shadows.live("b", NAMED) is not None
    assert shadows.latest_end() == 3.0
    clock.advance(2.75)
    assert shadows.live("c", NAMED) is not None
    assert [shadows.live(key, IMPLICIT) for key in ("b", "c")] == [None, None]
    assert shadows.latest_end() == 0.0


def test_latest_end_of_the_turns_under_way_is_known() -> None:
    clock = HandClock(10.0)
    shadows = LocalTurns(clock)
    arithmetic = TurnArithmetic(3000, shadows, clock)
    arithmetic.without_redis(TurnRequest("a", NAMED, clock()), clock())
    clock.advance(1)
    arithmetic.without_redis(TurnRequest("b", NAMED, clock()), clock())
    arithmetic.unshared(TurnRequest("c", NAMED, clock() + 50))
    assert shadows.latest_end() == 14.0


def test_call_that_arrived_before_the_first_one_seen_moves_the_start_of_the_turn() -> None:
    clock = HandClock(10.0)
    arithmetic = TurnArithmetic(3000, LocalTurns(clock), clock)
    arithmetic.without_redis(TurnRequest("a", NAMED, 10.0), 10.0)
    assert arithmetic.without_redis(TurnRequest("a", NAMED, 9.5), 10.0).ends.at == 12.5
    assert arithmetic.ages_ms(TurnRequest("a", NAMED, 9.9), 10.0) == (500, 100)


def test_call_arriving_in_the_future_counts_as_arriving_now() -> None:
    clock = HandClock(10.0)
    arithmetic = TurnArithmetic(3000, LocalTurns(clock), clock)
    assert arithmetic.ages_ms(TurnRequest("a", NAMED, 11.0), 10.0) == (0, 0)
    assert arithmetic.without_redis(TurnRequest("a", NAMED, 11.0), 10.0).ends.at == 13.0
