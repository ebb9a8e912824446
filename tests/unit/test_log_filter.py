"""What of the libraries' warnings gets into the log."""

from __future__ import annotations

import logging

from server.log_filter import MOST_REMEMBERED, SECONDS, Sparing


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def record(words: str, name: str = "uvicorn.error", level: int = logging.WARNING) -> logging.LogRecord:
    return logging.LogRecord(name, level, "", 0, words, None, None)


def test_the_same_warning_is_said_once_in_a_while_with_how_many_there_were() -> None:
    """However many bad requests there are."""
    clock = Clock()
    sparing = Sparing(clock)
    assert [bool(sparing.filter(record("Invalid request"))) for _ in range(1000)] == [True] + [False] * 999
    assert sparing.filter(record("Something else"))
    clock.now += SECONDS
    again = record("Invalid request")
    assert sparing.filter(again)
    assert again.getMessage() == "Invalid request (and 999 more)"


def test_errors_and_this_server_s_own_lines_are_all_said() -> None:
    """They are not for a client to cause at will."""
    sparing = Sparing(Clock())
    for _ in range(3):
        assert sparing.filter(record("it broke", level=logging.ERROR))
        assert sparing.filter(record("tool call failed", name="server.telemetry.log_line"))


def test_ever_new_warnings_take_no_memory_without_end() -> None:
    """A text may hold what a client sent."""
    sparing = Sparing(Clock())
    for number in range(10 * MOST_REMEMBERED):
        assert sparing.filter(record(f"warning {number}"))
    assert len(sparing._said) <= MOST_REMEMBERED
