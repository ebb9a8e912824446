"""Which calls get a waterfall, and how many waterfalls are held at once."""

from __future__ import annotations

from typing import Any, cast

import pytest

from server.call import Call, Principal, RequestMetadata
from server.ops.waterfalls import Waterfalls, hash_text
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
    assert sum(waterfalls.wants(a_call(number, clock)) for number in range(200)) == 10


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
    clock.advance(10)
    assert waterfalls.wants(a_call(1, clock))
    waterfalls(an_event(call_id="c1"))
    assert waterfalls.take() == [], "it has no timeline"


def test_waterfall_tells_how_far_into_its_turn_a_call_began(waterfalls: Waterfalls, clock: HandClock) -> None:
    name, ends = TurnName(TurnKind.NAMED, "t"), clock() + 3
    for number, later in enumerate((0, 0, 2)):
        call = a_call(number, clock, session="s", turn="t")
        call.begin_result = BeginResult(
            BeginRequest("s", None, TurnRequest("key", name, clock())),
            Turn(name, 3000, Deadline(ends + later, clock)),
        )
        assert waterfalls.wants(call)
        finish(waterfalls, call, clock)
        clock.advance(0.75)
    told = [(each["started_ms_into_turn"], each["turn_budget_ms"], each["turn"]) for each in waterfalls.take()]
    turn = hash_text(b"key", "turn", "s\0t")
    assert told == [(0, 3000, turn), (750, 3000, turn), (0, 3000, turn)]


def test_waterfall_tells_of_its_call_and_spans_in_milliseconds(clock: HandClock) -> None:
    """Attributes that are neither numbers nor short words are left out."""
    waterfalls = Waterfalls(b"key", clock, lambda: 5.12345)
    call = a_call(1, clock, session="s", turn="t")
    call.session, call.principal = "s", Principal("agent", "u")
    assert waterfalls.wants(call)
    timeline = Timeline(clock, "lookup_order", call.arrived)
    clock.advance(0.012344)
    stage = timeline.call.begin("stage", "cache", hit=True, bytes=0.5, how="batch get", order="MNG-DEMO1001")
    attempt = stage.begin("attempt", "orders")
    clock.advance(0.250004)
    attempt.end("TIMEOUT")
    timeline.more = 3
    event = an_event(call_id="c1", timeline=timeline, milliseconds=262.346, degraded=("stock",), fallback="x", empty=True)
    waterfalls(event)
    (told,) = waterfalls.take()
    assert [told.pop("turn"), told.pop("session"), told.pop("user")] == [
        hash_text(b"key", "turn", "s\0t"),
        hash_text(b"key", "session", "s"),
        hash_text(b"key", "user", "u"),
    ]
    assert told == {
        "call_id": "c1",
        "tool": "lookup_order",
        "transport": "sse",
        "at": 5.123,
        "ms": 262.35,
        "started_ms_into_turn": None,
        "turn_budget_ms": None,
        "left_ms": 2000,
        "outcome": "ok",
        "source": "live",
        "fallback": "x",
        "degraded": ["stock"],
        "empty": True,
        "more_intervals": 3,
        "intervals": [
            {"name": "cache", "kind": "stage", "from_ms": 12.34, "ms": 0.0, "parent": None, "outcome": "unfinished",
             "detail": {"hit": True, "bytes": 0.5, "how": "batch get"}},
            {"name": "orders", "kind": "attempt", "from_ms": 12.34, "ms": 250.0, "parent": 0, "outcome": "TIMEOUT",
             "detail": {}},
        ],
    }  # fmt: skip


def test_call_is_of_the_session_and_turn_that_it_states(waterfalls: Waterfalls, clock: HandClock) -> None:
    named: list[tuple[str | None, dict[str, Any]]] = [
        (None, {"session": "s", "turn": "t", "trace": "x"}),
        (None, {"session": "s", "trace": "t"}),
        ("s", {"turn": "t"}),
        ("other", {"session": "s", "turn": "t"}),
        (None, {"session": "s"}),
        ("s", {}),
        (None, {"turn": "t"}),
        (None, {}),
    ]
    for number, (transport_session, stated) in enumerate(named):
        call = a_call(number, clock, **stated)
        call.transport_session = transport_session
        assert waterfalls.wants(call)
        finish(waterfalls, call, clock)
    told = waterfalls.take()
    own = hash_text(b"key", "session", "s")
    assert [each["session"] == own for each in told] == [False, False, True, False, False, True, False, False]
    turns = [each["turn"] for each in told]
    names = ["s\0t"] * 4 + ["s\0"] * 2 + ["None\0t", "c7"]
    assert turns == [hash_text(b"key", "turn", name) for name in names]
    assert waterfalls.active_sessions() == 1


def test_unnamed_turn_of_a_session_ends_when_its_calls_have_another_end(waterfalls: Waterfalls, clock: HandClock) -> None:
    name, ends = TurnName(TurnKind.IMPLICIT, "t"), clock() + 3
    for number, later in enumerate((0, 0.25, 0, 0.5, 0.5)):
        call = a_call(number, clock, session="s")
        turn = Turn(name, 3000, Deadline(ends + later, clock))
        call.begin_result = BeginResult(BeginRequest("s", None, TurnRequest("key", name, clock())), turn)
        assert waterfalls.wants(call)
        finish(waterfalls, call, clock)
    assert [each["turn"] for each in waterfalls.take()] == [
        hash_text(b"key", "turn", f"s\0\0{number}") for number in (0, 0, 0, 1, 1)
    ]


def test_waiting_waterfalls_are_bounded(waterfalls: Waterfalls, clock: HandClock) -> None:
    for number in range(3 * 256):
        clock.advance(1)
        call = a_call(number, clock, session="s", turn=f"t{number}")
        assert waterfalls.wants(call)
        finish(waterfalls, call, clock)
    assert len(waterfalls.take()) == 256
    calls = [a_call(number, clock, session="s", turn=f"u{number}") for number in range(257)]
    for call in calls:
        clock.advance(1)
        assert waterfalls.wants(call)
    for call in calls:
        finish(waterfalls, call, clock)
    assert [each["call_id"] for each in waterfalls.take()] == [call.call_id for call in calls[1:]], "the last 256"


def test_active_sessions_are_counted_for_five_minutes_whether_sampled_or_not(
    waterfalls: Waterfalls, clock: HandClock
) -> None:
    for number in range(50):
        waterfalls.wants(a_call(number, clock, session=f"s{number % 25}"))
    assert waterfalls.active_sessions() == 25
    clock.advance(300.0)
    assert waterfalls.active_sessions() == 25
    waterfalls.wants(a_call(51, clock, session="s0"))
    clock.advance(0.5)
    assert waterfalls.active_sessions() == 1
    for number in range(10_001):
        waterfalls.wants(a_call(0, clock, session=f"s{number}"))
    assert waterfalls.active_sessions() == 10_000
