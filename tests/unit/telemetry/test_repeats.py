"""Similar log lines are limited, however many callers cause them."""

from __future__ import annotations

import json
import logging

import pytest

from server.telemetry.log_calls import EACH, MOST_KINDS, MOST_TOLD, SECONDS, TOGETHER, CallLog, Kind, RepeatLimit
from tests.support.clocks import HandClock
from tests.support.events import an_event


def kind(number: int) -> Kind:
    return f"user-{number}", "a_tool", "VALIDATION_ERROR"


def test_log_lines_of_ever_new_callers_are_bounded_in_number_and_memory() -> None:
    """All new callers beyond the limit share one allowance."""
    clock = HandClock(0.0)
    repeats = RepeatLimit(clock)
    repeats.take_expired()
    assert sum(repeats.allow(kind(number)) for number in range(100_000)) == TOGETHER
    assert len(repeats._written) <= TOGETHER
    assert len(repeats._left_out) <= MOST_KINDS + 1
    clock.advance(SECONDS)
    told = repeats.take_expired()
    assert len(told) == MOST_TOLD + 1
    assert sum(int(str(each["times"])) for each in told) == 100_000 - TOGETHER
    assert repeats.take_expired() == []
    assert repeats.allow(kind(0))


def test_repeat_limit_of_one_caller_does_not_affect_another() -> None:
    repeats = RepeatLimit(HandClock(0.0))
    repeats.take_expired()
    assert sum(repeats.allow(kind(1)) for _ in range(1000)) == EACH
    assert repeats.allow(kind(2))
    assert [each["times"] for each in repeats.take_all()] == [1000 - EACH]


def test_repeated_failed_calls_are_sampled_and_successful_calls_are_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    clock = HandClock(0.0)
    sink = CallLog("all", RepeatLimit(clock))
    for _ in range(100):
        sink(an_event(outcome="VALIDATION_ERROR"))
        sink(an_event(outcome="ok"))
    sink.close()
    lines = [json.loads(record.getMessage()) for record in caplog.records]
    assert sum(line.get("outcome") == "VALIDATION_ERROR" for line in lines) == EACH
    assert sum(line.get("outcome") == "ok" for line in lines) == 100
    assert [each["times"] for each in lines[-1]["left_out"]] == [100 - EACH]


def test_logged_validation_error_has_path_and_rule(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    CallLog("errors")(an_event(outcome="VALIDATION_ERROR", violations=(("$.title_ids[3]", "pattern"),)))
    assert json.loads(caplog.messages[0])["violations"] == [{"path": "$.title_ids[3]", "rule": "pattern"}]
