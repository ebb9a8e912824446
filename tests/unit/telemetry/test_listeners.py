"""Listeners of call events are all told, from their start to their end."""

from __future__ import annotations

from typing import cast

from server.call import Call
from server.telemetry.events import CallFinished, Listeners
from tests.support.events import an_event

CALL = cast(Call, object())


class Hears:
    def __init__(self, *, wanting: bool) -> None:
        self.wanting = wanting
        self.heard: list[CallFinished] = []
        self.asked = 0

    def __call__(self, event: CallFinished) -> None:
        self.heard.append(event)

    def wants(self, call: Call) -> bool:
        self.asked += 1
        return self.wanting


def test_no_event_is_delivered_without_listeners() -> None:
    listeners = Listeners()
    listeners(an_event())
    assert (len(listeners._listening), listeners.wants(CALL), listeners.traces) == (0, False, False)


def test_every_listener_is_told_and_asked() -> None:
    listeners, one, other = Listeners(), Hears(wanting=True), Hears(wanting=False)
    listeners.begin(one)
    listeners.begin(other)
    event = an_event()
    listeners(event)
    assert listeners.wants(CALL)
    assert (one.heard, other.heard, one.asked, other.asked) == ([event], [event], 1, 1)


def test_ended_listener_hears_nothing_and_the_others_still_do() -> None:
    listeners, one, other = Listeners(), Hears(wanting=True), Hears(wanting=False)
    listeners.begin(one)
    listeners.begin(other)
    listeners.end(one)
    listeners(an_event())
    assert (len(listeners._listening), listeners.wants(CALL)) == (1, False)
    assert (len(one.heard), len(other.heard)) == (0, 1)
