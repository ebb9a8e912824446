"""Who hears of calls for a while: those who began, until they end, and each of them all."""

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


def test_while_nobody_listens_nothing_is_wanted_and_nobody_told() -> None:
    listeners = Listeners()
    listeners(an_event())
    assert (len(listeners), listeners.wants(CALL), listeners.traces) == (0, False, False)


def test_each_is_told_and_each_is_asked_whatever_another_said() -> None:
    listeners, one, other = Listeners(), Hears(wanting=True), Hears(wanting=False)
    listeners.begin(one)
    listeners.begin(other)
    event = an_event()
    listeners(event)
    assert listeners.wants(CALL)
    assert (one.heard, other.heard, one.asked, other.asked) == ([event], [event], 1, 1)


def test_whoever_ends_hears_no_more_and_the_others_do() -> None:
    listeners, one, other = Listeners(), Hears(wanting=True), Hears(wanting=False)
    listeners.begin(one)
    listeners.begin(other)
    listeners.end(one)
    listeners(an_event())
    assert (len(listeners), listeners.wants(CALL)) == (1, False)
    assert (len(one.heard), len(other.heard)) == (0, 1)
