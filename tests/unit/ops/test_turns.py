"""Which turns are shown, by a clock in the test's hand: whole ones, and never more than the page may cost."""

from __future__ import annotations

import pytest

from server.ops.waterfalls import BURST, HOLDS_SECONDS, MOST_CALLS, PER_SECOND, Turns
from tests.support.clocks import HandClock


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def turns(clock: HandClock) -> Turns:
    return Turns(clock)


def test_a_turn_is_shown_whole_or_not_at_all(turns: Turns, clock: HandClock) -> None:
    first = [turns.is_sampled(turn) for turn in range(200)]
    assert sum(first) == BURST
    clock.advance(1)
    assert [turns.is_sampled(turn) for turn in range(200)] == first
    assert sum(turns.is_sampled(turn) for turn in range(1000, 1200)) == PER_SECOND


def test_one_turn_that_never_ends_is_not_shown_without_limit(turns: Turns, clock: HandClock) -> None:
    """A client that names the same turn, or none in the same session, 200 times a second."""
    shown, seconds = 0, 60
    for _ in range(200 * seconds):
        shown += turns.is_sampled(1)
        clock.advance(1 / 200)
    assert 0 < shown <= MOST_CALLS * (seconds / HOLDS_SECONDS + 1)


def test_a_session_that_was_not_chosen_once_may_be_later(turns: Turns, clock: HandClock) -> None:
    """Where calls name no turn the session's name stands for all of its turns."""
    for turn in range(BURST):
        turns.is_sampled(turn)
    assert not turns.is_sampled(1000)
    clock.advance(HOLDS_SECONDS / 2)
    assert not turns.is_sampled(1000), "its turn may still go on"
    clock.advance(HOLDS_SECONDS / 2)
    assert turns.is_sampled(1000)
