"""The filter of repeated warnings and errors in the log."""

from __future__ import annotations

import logging

from server.telemetry.log_output import MOST_ALIKE, MOST_REMEMBERED, SECONDS, RepeatFilter
from tests.support.cases import cases


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def record(words: str, name: str = "uvicorn.error", level: int = logging.WARNING) -> logging.LogRecord:
    return logging.LogRecord(name, level, "", 0, words, None, None)


def test_repeated_warning_is_logged_once_per_interval_with_a_count() -> None:
    """This bounds the log under any number of bad requests."""
    clock = Clock()
    sparing = RepeatFilter(clock)
    assert [bool(sparing.filter(record("Invalid request"))) for _ in range(1000)] == [True] + [False] * 999
    assert sparing.filter(record("Something else"))
    clock.now += SECONDS
    again = record("Invalid request")
    assert sparing.filter(again)
    assert again.getMessage() == "Invalid request (and 999 more)"


@cases("name", ["uvicorn.error", "server.stages.telemetry"])
def test_repeated_errors_are_logged_a_bounded_number_of_times(name: str) -> None:
    """A call that always fails leaves a traceback each time, and a client may repeat it at will."""
    clock = Clock()
    sparing = RepeatFilter(clock)
    said = [bool(sparing.filter(record("call %s broke", name, logging.ERROR))) for _ in range(1000)]
    assert said == [True] * MOST_ALIKE + [False] * (1000 - MOST_ALIKE)
    clock.now += SECONDS
    again = record("call %s broke", name, logging.ERROR)
    assert sparing.filter(again)
    assert again.getMessage() == f"call %s broke (and {1000 - MOST_ALIKE} more)"


def test_call_lines_pass_the_repeat_filter() -> None:
    """Call lines all have the same, empty message."""
    sparing = RepeatFilter(Clock())
    assert all(sparing.filter(record("%s", "manga.calls", logging.INFO)) for _ in range(1000))


def test_memory_of_the_repeat_filter_is_bounded() -> None:
    """A message may contain what a client sent."""
    sparing = RepeatFilter(Clock())
    for number in range(10 * MOST_REMEMBERED):
        assert sparing.filter(record(f"warning {number}"))
    assert len(sparing._said) <= MOST_REMEMBERED
