"""What a call writes at its end: cache entry, result set and history, and their lifetimes."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from session import keys
from session.redis.keyvalue import Command, Evaluation, Step
from tests.support.pipeline import Kit, Opener
from tests.support.store import BAD, Backends
from tools.contract import CachePolicy, Tool
from tools.registry import TOOLS
from tools.results.shortening import estimate

pytestmark = pytest.mark.virtual_time

SEARCH = "search_manga_catalog"
QUERY = {"query": "pirates"}


def search_with(cache: CachePolicy | None) -> Tool:
    return replace(next(tool for tool in TOOLS if tool.name == SEARCH), cache=cache)


def last_written(kit: Kit) -> list[Step]:
    """The steps of the last trip."""
    return kit.redis.trips[-1]


def seconds_of(steps: list[Step], key: str) -> list[Any]:
    """How long the commands keep what they set under a name that begins so."""
    return [step[4] for step in steps if isinstance(step, Command) and step[0] == "SET" and str(step[1]).startswith(key)]


def remembered(steps: list[Step]) -> dict[str, Any]:
    """The call as the session's history has it."""
    (entry,) = [
        json.loads(str(argument))
        for step in steps
        if isinstance(step, Evaluation)
        for argument in step.arguments
        if isinstance(argument, str) and argument.startswith("{")
    ]
    return dict(entry)


@pytest.mark.parametrize(("cache", "seconds"), [(None, 1800), (CachePolicy(300, 86_400), 1800 + 86_400)])
async def test_result_set_is_kept_half_an_hour_longer_than_its_cache_entry(
    opener: Opener, cache: CachePolicy | None, seconds: int
) -> None:
    kit: Kit = await opener(tools=[search_with(cache)])
    await kit.ask(SEARCH, QUERY, session="s")
    assert seconds_of(last_written(kit), keys.result_set("")) == [seconds]


@pytest.mark.parametrize(("drawn", "seconds"), [(0.0, 86_400), (0.5, 82_080), (1.0, 77_760)])
async def test_lifetime_of_cache_entries_is_jittered_by_a_tenth(opener: Opener, drawn: float, seconds: int) -> None:
    kit: Kit = await opener()
    kit.pipeline.cache.draw = lambda: drawn
    await kit.ask(SEARCH, QUERY, session="s")
    assert seconds_of(last_written(kit), "manga:mcp:cache:") == [seconds]


async def test_answer_from_the_cache_is_not_written_again(opener: Opener) -> None:
    kit: Kit = await opener()
    await kit.ask(SEARCH, QUERY, session="s")
    again = await kit.ask(SEARCH, QUERY, session="s")
    assert again.meta["source"] == "cache"
    assert not [step for step in last_written(kit) if isinstance(step, Command) and step[0] == "SET"]
    assert remembered(last_written(kit))["cache_hit"] is True


async def test_history_entry_has_tool_outcome_tokens_and_latency(opener: Opener) -> None:
    kit: Kit = await opener()
    answer = await kit.ask(SEARCH, QUERY, session="s")
    entry = remembered(last_written(kit))
    assert entry["tokens"] == estimate(answer.texts[0])
    assert (entry["tool"], entry["succeeded"], entry["cache_hit"]) == (SEARCH, True, False)
    assert abs(entry["at"] - time.time()) < 3600, "the wall clock's seconds"
    assert entry["at"] == round(entry["at"], 3)
    assert entry["latency_ms"] == round(answer.call.elapsed_ms())


async def test_history_entry_of_a_failed_call_has_the_failure_as_summary(opener: Opener) -> None:
    kit: Kit = await opener()
    answer = await kit.ask("get_manga_details", {"title_id": "manga-999999"}, session="s")
    entry = remembered(last_written(kit))
    assert (entry["summary"], entry["succeeded"]) == ("NOT_FOUND", False)
    assert entry["tokens"] == estimate(answer.texts[0]), "an error is read too"


async def test_long_query_is_recorded_by_its_first_200_characters(opener: Opener) -> None:
    kit: Kit = await opener()
    for length in (200, 201, 230):
        query = ("pirate treasure " * 20)[: length - 1] + "x"
        await kit.ask(SEARCH, {"query": query}, session="s", turn="t")
        remembered = [each for step in last_written(kit) if isinstance(step, Evaluation) for each in step.arguments]
        assert query[:200] in remembered


async def test_call_without_a_session_is_not_recorded(opener: Opener) -> None:
    kit: Kit = await opener()
    await kit.ask(SEARCH, QUERY)
    assert not [step for step in last_written(kit) if isinstance(step, Evaluation)]


async def test_titles_of_a_fallback_are_kept_as_a_result_set_and_not_cached(opener: Opener, moody: Backends) -> None:
    kit: Kit = await opener()
    moody.catalog.mood = BAD[0]
    answer = await kit.ask(SEARCH, QUERY, session="s")
    assert answer.meta["source"] == "fallback"
    assert seconds_of(last_written(kit), keys.result_set("")) == [1800 + 86_400]
    assert seconds_of(last_written(kit), "manga:mcp:cache:") == []
