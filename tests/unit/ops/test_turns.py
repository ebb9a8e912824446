"""Turns are sampled whole for the page and at a bounded rate, by the test's clock."""

from __future__ import annotations

import pytest

from server.ops.waterfalls import Turns
from tests.support.clocks import HandClock


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def turns(clock: HandClock) -> Turns:
    return Turns(clock)


def test_calls_of_a_turn_are_sampled_all_or_none(turns: Turns, clock: HandClock) -> None:
    first = [turns.is_sampled(turn) for turn in range(200)]
    assert sum(first) == 10
    clock.advance(1)
    assert [turns.is_sampled(turn) for turn in range(200)] == first
    assert sum(turns.is_sampled(turn) for turn in range(1000, 1200)) == 2


def test_endless_turn_is_sampled_a_bounded_number_of_times(turns: Turns, clock: HandClock) -> None:
    """A client sends 200 calls a second that name the same turn, or no turn in the same session."""
    assert sum(turns.is_sampled(1) for _ in range(200)) == 32
    for seconds, more in ((9.5, 0), (0.5, 32)):
        clock.advance(seconds)
        assert sum(turns.is_sampled(1) for _ in range(200)) == more


def test_unsampled_turn_may_be_sampled_after_the_holding_time(turns: Turns, clock: HandClock) -> None:
    """Calls that name no turn go by their session, which stands for all of its turns."""
    for turn in range(10):
        turns.is_sampled(turn)
    assert not turns.is_sampled(1000)
    clock.advance(9.5)
    assert not turns.is_sampled(1000), "its turn may still go on"
    clock.advance(0.5)
    assert turns.is_sampled(1000)


def test_decision_on_a_turn_is_forgotten_after_2048_others(clock: HandClock) -> None:
    for others, known in ((2047, True), (2048, False)):
        turns = Turns(clock)
        for turn in range(1 + others):
            turns.is_sampled(turn)
        assert turns.is_sampled(0) is known
