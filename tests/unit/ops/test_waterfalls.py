"""Which calls get a waterfall, and how many waterfalls are held at once."""

from __future__ import annotations

from typing import Any, cast

import pytest

from server.call import Call, RequestMetadata
from server.ops.waterfalls import ACTIVE_SECONDS, BURST, MOST_WAITING, Waterfalls
from session.begin import BeginRequest, BeginResult
from session.resilience.deadline import Deadline, Timeline
from session.turn import Turn, TurnKind, TurnName, TurnRequest
from tests.support.clocks import HandClock
from tests.support.events import an_event


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def waterfalls(clock: HandClock) -> Waterfalls:
    return Waterfalls(b"key", clock, clock)


def a_call(number: int, clock: HandClock, **stated: Any) -> Call:
    return Call(f"c{number}", cast(Any, None), {}, RequestMetadata(**stated), clock())


def finish(waterfalls: Waterfalls, call: Call, clock: HandClock) -> None:
    timeline = Timeline(clock, "lookup_order", call.arrived)
    timeline.close("ok")
    waterfalls(an_event(call_id=call.call_id, timeline=timeline))


def test_calls_without_any_name_are_sampled_as_single_turns(waterfalls: Waterfalls, clock: HandClock) -> None:
    """Stateless clients without session, turn or trace are many, and each call is a turn of its own."""
    assert sum(waterfalls.wants(a_call(number, clock)) for number in range(200)) == BURST


def test_calls_of_a_sampled_turn_are_recorded_together(waterfalls: Waterfalls, clock: HandClock) -> None:
    for number in range(200):
        waterfalls.wants(a_call(number, clock, session="s", turn=f"t{number}"))
    assert all(waterfalls.wants(a_call(number, clock, session="s", turn="t0")) for number in range(20))
    assert not waterfalls.wants(a_call(300, clock, session="s", turn="t199"))


def test_unsampled_calls_are_not_reported(waterfalls: Waterfalls, clock: HandClock) -> None:
    calls = [a_call(number, clock, session="s", turn=f"t{number}") for number in range(50)]
    wanted = [call.call_id for call in calls if waterfalls.wants(call)]
    for call in calls:
        finish(waterfalls, call, clock)
    assert [each["call_id"] for each in waterfalls.take()] == wanted
    assert waterfalls.take() == []


def test_waterfall_tells_how_far_into_its_turn_a_call_began(waterfalls: Waterfalls, clock: HandClock) -> None:
    name, ends = TurnName(TurnKind.NAMED, "t"), Deadline.after(3, clock)
    for number in range(2):
        call = a_call(number, clock, session="s", turn="t")
        call.begin_result = BeginResult(
            BeginRequest("s", None, TurnRequest("key", name, clock()), limited=False), Turn(name, 3000, ends)
        )
        assert waterfalls.wants(call)
        finish(waterfalls, call, clock)
        clock.advance(0.75)
    assert [each["started_ms_into_turn"] for each in waterfalls.take()] == [0, 750]


def test_waiting_waterfalls_are_bounded(waterfalls: Waterfalls, clock: HandClock) -> None:
    for number in range(10 * MOST_WAITING):
        clock.advance(1)
        call = a_call(number, clock, session="s", turn=f"t{number}")
        assert waterfalls.wants(call)
        finish(waterfalls, call, clock)
    assert len(waterfalls.take()) == MOST_WAITING


def test_active_sessions_are_counted_for_five_minutes_whether_sampled_or_not(
    waterfalls: Waterfalls, clock: HandClock
) -> None:
    for number in range(50):
        waterfalls.wants(a_call(number, clock, session=f"s{number % 25}"))
    assert waterfalls.active_sessions() == 25
    clock.advance(ACTIVE_SECONDS)
    waterfalls.wants(a_call(51, clock, session="s0"))
    clock.advance(1)
    assert waterfalls.active_sessions() == 1
