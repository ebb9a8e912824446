"""The state of a turn in one process; turns over Redis are tested in the contract suite."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from session.resilience.deadline import Deadline
from session.turn import (
    IMPLICIT,
    LocalTurn,
    TokenBudget,
    Turn,
    TurnClock,
    TurnKind,
    TurnName,
    TurnRequest,
    Turns,
    merge_token_budgets,
    open_token_budget,
)
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


@cases(
    ("left", "between", "exhausted", "over"),
    [(0, 100, True, False), (0, 101, True, True), (100, 0, True, False), (100, 1, True, True), (101, 500, False, False)],
)
def test_turn_with_100_ms_or_less_left_is_exhausted_perhaps_by_the_pauses_between_its_calls(
    left: int, between: int, exhausted: bool, over: bool
) -> None:
    turn = Turn(NAMED, 3000, Deadline.after((left + 200) / 1000, HandClock(0.0)), between_ms=between)
    assert (turn.exhausted, turn.over_between) == (exhausted, over)


def test_local_copies_of_turns_expire_and_are_bounded() -> None:
    clock = HandClock(0.0)
    turns = Turns(3000, clock, capacity=2)
    for key in ("a", "b", "c"):
        turns.keep(key, LocalTurn(0.0, 3.0, 3000))
    assert turns.live("a", NAMED) is None
    assert turns.live("b", NAMED) is not None
    assert turns.latest_end() == 3.0
    clock.advance(2.75)
    assert turns.live("c", NAMED) is not None
    assert [turns.live(key, IMPLICIT) for key in ("b", "c")] == [None, None]
    assert turns.latest_end() == 0.0


def test_latest_end_of_the_turns_under_way_is_known() -> None:
    clock = HandClock(10.0)
    turns = Turns(3000, clock)
    turns.without_redis(TurnRequest("a", NAMED, clock()))
    clock.advance(1)
    turns.without_redis(TurnRequest("b", NAMED, clock()))
    turns.unshared(TurnRequest("c", NAMED, clock() + 50))
    assert turns.latest_end() == 14.0


def test_call_that_arrived_before_the_first_one_seen_moves_the_start_of_the_turn() -> None:
    clock = HandClock(10.0)
    turns = Turns(3000, clock)
    turns.without_redis(TurnRequest("a", NAMED, 10.0))
    assert turns.without_redis(TurnRequest("a", NAMED, 9.5)).ends.at == 12.5
    assert turns.ages_ms(TurnRequest("a", NAMED, 9.9), 10.0) == (500, 100)
    assert turns.ages_ms(TurnRequest("a", NAMED, 11.0), 12.0) == (2500, 1000)


def test_call_arriving_in_the_future_counts_as_arriving_now() -> None:
    clock = HandClock(10.0)
    turns = Turns(3000, clock)
    assert turns.ages_ms(TurnRequest("a", NAMED, 11.0), 10.0) == (0, 0)
    assert turns.without_redis(TurnRequest("a", NAMED, 11.0)).ends.at == 13.0


@cases(
    ("name", "pause", "ends"),
    [(IMPLICIT, 10.0, 23.0), (IMPLICIT, 10.0009765625, None), (NAMED, 60.0, 73.0), (NAMED, 60.0009765625, None)],
)
def test_pause_between_calls_postpones_the_end_or_ends_the_turn(name: TurnName, pause: float, ends: float | None) -> None:
    """This is so with the clock that counts calls alone. Pauses end an unnamed turn after 10 s, a named one after 60 s."""
    clock = HandClock(10.0)
    turns = Turns(3000, clock, counts=TurnClock.TOOLS)
    turns.enter(TurnRequest("a", name, 10.0))
    turns.keep("a", LocalTurn(10.0, 13.0, 3000))
    turns.leave("a")
    turns.enter(TurnRequest("a", name, 10.0 + pause))
    turns.enter(TurnRequest("a", name, 10.0 + pause))
    known = turns.live("a", NAMED)
    assert (known and (known.first_seen, known.ends)) == (ends and (10.0 + pause, ends))
    assert turns.between_ms("a") == 0


def test_pause_counts_from_the_end_of_the_last_of_parallel_calls() -> None:
    clock = HandClock(10.0)
    turns = Turns(3000, clock)
    for _ in range(2):
        turns.enter(TurnRequest("a", NAMED, 10.0))
    turns.keep("a", LocalTurn(10.0, 13.0, 3000))
    for seconds in (0.25, 0.5):
        clock.advance(seconds)
        turns.leave("a")
    turns.enter(TurnRequest("a", NAMED, 12.0))
    assert turns.between_ms("a") == 1250
    turns.enter(TurnRequest("a", NAMED, 13.0))
    assert turns.between_ms("a") == 1250, "a call is under way"
    turns.renew("a")
    assert turns.between_ms("a") == turns.between_ms("unknown") == 0


@cases(
    ("name", "now", "known"),
    [(NAMED, 63.0, True), (NAMED, 63.0009765625, False), (IMPLICIT, 2.6875, True), (IMPLICIT, 2.703125, False)],
)
def test_named_turn_is_known_for_a_minute_after_its_end_and_another_while_a_call_may_start(
    name: TurnName, now: float, known: bool
) -> None:
    clock = HandClock(0.0)
    turns = Turns(3000, clock)
    turns.keep("a", LocalTurn(0.0, 3.0, 3000))
    clock.now = now
    turns.keep("b", LocalTurn(now, now + 3, 3000))
    assert len(turns) == (1 if now > 63 else 2)
    assert (turns.live("a", name) is not None) is known
    assert len(turns) == (2 if known else 1)


def test_activity_is_forgotten_with_the_last_call_or_a_minute_after_its_turn() -> None:
    turns = Turns(3000, HandClock())
    for _ in range(2):
        turns.enter(TurnRequest("without a turn", NAMED, 0.0))
    for left in (1, 0, 0):
        turns.leave("without a turn")
        assert len(turns) == left
    clock = HandClock(0.0)
    turns = Turns(3000, clock)
    for key in ("ended", "under way"):
        turns.enter(TurnRequest(key, NAMED, 0.0))
        turns.keep(key, LocalTurn(0.0, 3.0, 3000))
    turns.leave("ended")
    clock.now = 64.0
    turns.keep("later", LocalTurn(64.0, 67.0, 3000))
    assert [turns._known.peek(key) is not None for key in ("ended", "under way")] == [False, True]


@cases(("step_ms", "ends"), [(0, 13.0), (250, 12.75), (251, 13.0), (-250, 13.0), (-4000, 13.0)])
def test_step_of_the_clock_of_redis_beyond_250_ms_is_no_elapsed_time(step_ms: int, ends: float) -> None:
    clock = HandClock(10.0)
    turns = Turns(3000, clock)
    turns.confirm(TurnRequest("a", NAMED, 10.0), 10.0, 0, 3000, 5000, None, renewed=True)
    clock.advance(1.0)
    request = TurnRequest("a", NAMED, 11.0)
    turn = turns.confirm(request, 11.0, 1000 + step_ms, 3000, 6000 + step_ms, None, renewed=False)
    assert turn.ends.at == ends


# -- tokens


KNOWN = TokenBudget(900, 400)


def test_turn_with_fewer_than_150_tokens_by_either_view_is_exhausted() -> None:
    budget = TokenBudget(1000, 850)
    assert (budget.remaining, budget.is_exhausted) == (150, False)
    assert (budget.spend(1).remaining, budget.spend(1).is_exhausted) == (149, True)
    assert budget.spend(900).remaining == 0
    assert merge_token_budgets(KNOWN, TokenBudget(800, 100)) == TokenBudget(800, 400)
    assert merge_token_budgets(TokenBudget(800, 500), KNOWN) == TokenBudget(800, 500)
    assert [merge_token_budgets(*pair) for pair in ((KNOWN, None), (None, KNOWN), (None, None))] == [KNOWN, KNOWN, None]


@cases(
    ("spent", "most", "expected", "allowed"),
    [
        (0, 4000, 1, 4000),
        (0, 9000, 1, 5000),
        (0, 4000, 2, 2500),
        (0, 4000, 0, 4000),
        (0, 4000, 24, 208),
        (0, 4000, 26, 200),
        (0, 160, 26, 160),
        (4900, 4000, 1, 100),
        (4900, 4000, 5, 100),
    ],
)
def test_tokens_of_a_call_are_a_fair_share_of_at_least_200(spent: int, most: int, expected: int, allowed: int) -> None:
    assert TokenBudget(5000, spent).allowance(most, expected) == allowed


@cases(
    ("configured", "stated", "known", "opened"),
    [
        (0, None, None, None),
        (1000, None, None, TokenBudget(1000)),
        (1000, None, KNOWN, KNOWN),
        (0, 300, None, TokenBudget(300)),
        (0, 0, None, TokenBudget(0)),
        (1000, 300, None, TokenBudget(300)),
        (1000, 1001, None, TokenBudget(1000)),
        (1000, 300, KNOWN, TokenBudget(700, 400)),
        (1000, 501, KNOWN, KNOWN),
        (0, 300, KNOWN, TokenBudget(700, 400)),
    ],
)
def test_stated_tokens_only_reduce_the_budget_of_a_turn(
    configured: int, stated: int | None, known: TokenBudget | None, opened: TokenBudget | None
) -> None:
    assert open_token_budget(configured, stated, known) == opened
