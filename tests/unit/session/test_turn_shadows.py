"""The memory of turns does not grow with the number of turns a process has seen."""

from __future__ import annotations

from session.turn import FORGET_MS, LocalTurn, LocalTurns, TurnKind, TurnName, TurnRequest
from tests.support.clocks import HandClock

TURN_SECONDS = 3.0
NAMED = TurnName(TurnKind.NAMED, "t")


def test_finished_turns_are_removed_from_memory_within_a_minute() -> None:
    """They are removed without being asked for, and long before the limit is reached."""
    clock = HandClock()
    shadows = LocalTurns(clock)
    for number in range(1000):
        key = f"turn {number}"
        shadows.enter(TurnRequest(key, NAMED, clock.now))
        shadows.keep(key, LocalTurn(clock.now, clock.now + TURN_SECONDS, 3000))
        shadows.leave(key)
        clock.advance(1.0)
    assert len(shadows) <= TURN_SECONDS + FORGET_MS / 1000 + 1
    assert shadows.live("turn 999", NAMED) is not None
    assert shadows.live("turn 940", NAMED) is not None, "over, and remembered as such for a minute"


def test_turn_that_ended_before_it_was_seen_is_not_kept() -> None:
    """Its call waited so long that the turn was over."""
    clock = HandClock()
    shadows = LocalTurns(clock)
    shadows.keep("old", LocalTurn(clock.now - 100, clock.now - 97, 3000))
    assert len(shadows) == 0
