"""Caller errors are reported as such, and count against no backend."""

from __future__ import annotations

import pytest

from tests.support.calls import TITLE, caller_errors
from tests.support.pipeline import Kit

pytestmark = pytest.mark.virtual_time


async def test_caller_errors_are_returned_as_such_and_open_no_breaker(kit: Kit) -> None:
    expected = [
        "VALIDATION_ERROR",
        "NOT_FOUND",
        "VALIDATION_ERROR",
        "NOT_FOUND",
        "FORBIDDEN",
        "VALIDATION_ERROR",
        "FORBIDDEN",
    ]
    for _ in range(15):
        assert await caller_errors(kit) == [*expected, "VALIDATION_ERROR", "VALIDATION_ERROR"]
    assert kit.open_breakers() == []
    assert {event.source for event in kit.events} == {None}


async def test_refused_arguments_are_neither_in_events_nor_in_history(kit: Kit) -> None:
    """A refused argument can be anything: a card number in the wrong field, a megabyte of text."""
    await kit.ask("get_manga_details", {"title_id": "4111 1111 1111 1111"}, session="s", user="u")
    assert kit.events[-1].arguments == {}
    await kit.ask("get_manga_details", {"title_id": "manga-09012345678"}, session="s", user="u")
    assert kit.events[-1].arguments == {}, "the id of no title may be anything as well"
    await kit.ask("get_manga_details", TITLE, session="s", user="u")
    assert kit.events[-1].arguments == TITLE
    calls = (await kit.memory.recall("s", "u")).calls
    assert [call.arguments for call in calls] == [TITLE, {}, {}]
