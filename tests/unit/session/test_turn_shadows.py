"""The memory of turns does not grow with the number of turns a process has seen."""

from __future__ import annotations

from session.turn import FORGET_MS, LocalTurn, TurnKind, TurnName, TurnRequest, Turns
from tests.support.clocks import HandClock

TURN_SECONDS = 3.0
NAMED = TurnName(TurnKind.NAMED, "t")


def test_finished_turns_are_removed_from_memory_within_a_minute() -> None:
    """They are removed without being asked for, and long before the limit is reached."""
    clock = HandClock()
    turns = Turns(3000, clock)
    for number in range(1000):
        key = f"turn {number}"
        turns.enter(TurnRequest(key, NAMED, clock.now))
        turns.keep(key, LocalTurn(clock.now, clock.now + TURN_SECONDS, 3000))
        turns.leave(key)
        clock.advance(1.0)
    assert len(turns) <= TURN_SECONDS + FORGET_MS / 1000 + 1
    assert turns.live("turn 999", NAMED) is not None
    assert turns.live("turn 940", NAMED) is not None, "over, and remembered as such for a minute"


def test_turn_that_ended_before_it_was_seen_is_not_kept() -> None:
    """Its call waited so long that the turn was over."""
    clock = HandClock()
    turns = Turns(3000, clock)
    turns.keep("old", LocalTurn(clock.now - 100, clock.now - 97, 3000))
    assert len(turns) == 0
