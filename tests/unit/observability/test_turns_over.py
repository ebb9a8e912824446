"""Turns that run out between their calls are logged once a minute."""

from __future__ import annotations

import logging

import pytest

from server.telemetry.log_calls import ExhaustedTurns
from tests.support.clocks import HandClock
from tests.support.events import an_event


def test_exhausted_turns_are_logged_at_once_and_then_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    over = ExhaustedTurns(clock)
    with caplog.at_level(logging.WARNING, "manga.turns"):
        over(an_event(turn_over=True))
        over(an_event())
        assert not caplog.messages, "by time inside calls: the ladder and its alarms tell of that"
        for _ in range(3):
            over(an_event(turn_over=True, over_between=True))
        assert len(caplog.messages) == 1
        clock.advance(60)
        over(an_event(turn_over=True, over_between=True))
    assert [message.split(" calls")[0] for message in caplog.messages] == ["1", "3"]
    assert "MANGA_TURN_CLOCK=tools" in caplog.text
