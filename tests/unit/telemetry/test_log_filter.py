"""What of the libraries' warnings gets into the log."""

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


def test_the_same_warning_is_said_once_in_a_while_with_how_many_there_were() -> None:
    """However many bad requests there are."""
    clock = Clock()
    sparing = RepeatFilter(clock)
    assert [bool(sparing.filter(record("Invalid request"))) for _ in range(1000)] == [True] + [False] * 999
    assert sparing.filter(record("Something else"))
    clock.now += SECONDS
    again = record("Invalid request")
    assert sparing.filter(again)
    assert again.getMessage() == "Invalid request (and 999 more)"


@cases("name", ["uvicorn.error", "server.stages.telemetry"])
def test_errors_and_this_server_s_own_lines_are_said_but_not_without_end(name: str) -> None:
    """A call that always breaks leaves a traceback each time, and a client can ask for it as often as it likes."""
    clock = Clock()
    sparing = RepeatFilter(clock)
    said = [bool(sparing.filter(record("call %s broke", name, logging.ERROR))) for _ in range(1000)]
    assert said == [True] * MOST_ALIKE + [False] * (1000 - MOST_ALIKE)
    clock.now += SECONDS
    again = record("call %s broke", name, logging.ERROR)
    assert sparing.filter(again)
    assert again.getMessage() == f"call %s broke (and {1000 - MOST_ALIKE} more)"


def test_lines_of_calls_are_sampled_elsewhere() -> None:
    """They all have the same words, which are none."""
    sparing = RepeatFilter(Clock())
    assert all(sparing.filter(record("%s", "manga.calls", logging.INFO)) for _ in range(1000))


def test_ever_new_warnings_take_no_memory_without_end() -> None:
    """A text may hold what a client sent."""
    sparing = RepeatFilter(Clock())
    for number in range(10 * MOST_REMEMBERED):
        assert sparing.filter(record(f"warning {number}"))
    assert len(sparing._said) <= MOST_REMEMBERED
