"""Cached results: fresh, stale and refreshed in the background, unreadable, and never cached."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from server.stages.cache import cache_key
from session import keys
from session.begin import encode
from tests.support.breakers import mend
from tests.support.calls import ARGUMENTS, CACHED, QUERY, age
from tests.support.pipeline import Kit, Opener
from tests.support.store import BAD, Mood
from tests.support.valkey import ask, eventually
from tools.registry import TOOLS

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize("tool", CACHED)
async def test_fresh_cache_entry_is_served_without_asking_the_backend(kit: Kit, tool: str) -> None:
    live = await kit.ask(tool, ARGUMENTS[tool], user="u")
    kit.backends.catalog.mood = Mood.BREAKS
    cached = await kit.ask(tool, ARGUMENTS[tool], user="u")
    assert (cached.meta["source"], cached.value) == ("cache", live.value)
    assert cached.meta["asOf"]


FRESH = {tool.name: tool.cache.fresh_seconds for tool in TOOLS if tool.cache}
STALE = {tool.name: tool.cache.stale_seconds for tool in TOOLS if tool.cache}


@pytest.mark.parametrize("tool", CACHED)
async def test_stale_cache_entry_is_served_at_once_and_refreshed_behind_it(kit: Kit, tool: str) -> None:
    await kit.ask(tool, ARGUMENTS[tool], user="u", session="s")
    await age(kit, FRESH[tool] + 1)
    history = len((await kit.memory.recall("s", "u")).calls)
    stale = await kit.ask(tool, ARGUMENTS[tool], user="u")
    assert stale.meta["source"] == "stale"
    assert "may be out of date" in stale.note
    await eventually(lambda: not kit.pipeline.cache.refreshes)
    assert (await kit.ask(tool, ARGUMENTS[tool], user="u")).meta["source"] == "cache"
    assert len((await kit.memory.recall("s", "u")).calls) == history, "a refresh writes no session"


async def test_refreshes_are_limited_to_one_per_entry_and_eight_at_once(kit: Kit) -> None:
    queries = [{"query": f"story {n}"} for n in range(12)]
    for query in queries:
        await kit.ask("search_manga_catalog", query)
    await age(kit, 301)
    kit.backends.catalog.gate = asyncio.Event()
    asked = kit.calls_of("search")
    answers = await asyncio.gather(*(kit.ask("search_manga_catalog", query) for query in queries * 2))
    assert {answer.meta["source"] for answer in answers} == {"stale"}
    assert kit.calls_of("search") - asked == 8
    kit.backends.catalog.gate.set()
    await eventually(lambda: not kit.pipeline.cache.refreshes)


async def test_hanging_refresh_is_cancelled_at_the_tool_timeout(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", QUERY)
    await age(kit, 301)
    kit.backends.catalog.mood = Mood.HANGS
    assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "stale"
    await eventually(lambda: not kit.pipeline.cache.refreshes)
    assert kit.backends.catalog.cancelled >= 1


async def test_partial_result_of_a_refresh_is_not_cached(kit: Kit) -> None:
    await kit.ask("get_recommendations", {"criteria": "x"}, user="u")
    await age(kit, 61)
    kit.backends.orders.mood = Mood.FAILS
    assert (await kit.ask("get_recommendations", {"criteria": "x"}, user="u")).meta["source"] == "stale"
    await eventually(lambda: not kit.pipeline.cache.refreshes)
    assert (await kit.ask("get_recommendations", {"criteria": "x"}, user="u")).meta["source"] == "stale"


async def test_failed_refresh_leaves_the_stale_entry(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    await kit.ask("search_manga_catalog", QUERY)
    await age(kit, 301)
    kit.backends.catalog.mood = Mood.FAILS
    for _ in range(2):
        assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "stale"
        await eventually(lambda: not kit.pipeline.cache.refreshes)
    assert not caplog.records


async def test_title_removed_from_the_catalogue_removes_its_cache_entry(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refresh and a new call both remove it, and no fallback shows it while the backends are away."""

    async def nothing(title_ids: object, deadline: object) -> dict[str, object]:
        return {}

    details = "get_manga_details"
    for seconds, first in ((FRESH[details] + 1, None), (3 * FRESH[details], "NOT_FOUND")):
        monkeypatch.undo()
        kit.clock.advance(60)
        kit.backends.catalog.mood = Mood.WORKS
        assert (await kit.ask(details, ARGUMENTS[details])).meta["source"] == "live"
        await age(kit, seconds)
        monkeypatch.setattr(type(kit.backends.catalog), "get", staticmethod(nothing), raising=False)
        assert (await kit.ask(details, ARGUMENTS[details])).failure == first
        await eventually(lambda: not kit.pipeline.cache.refreshes)
        kit.backends.titles.mood = Mood.FAILS
        assert (await kit.ask(details, ARGUMENTS[details])).failure == "NOT_FOUND"
        assert await ask(kit.redis, "KEYS", "manga:mcp:cache:*get_manga_details*") == []


@pytest.mark.parametrize("mood", BAD)
@pytest.mark.parametrize("tool", CACHED)
async def test_stale_cache_entry_replaces_a_failing_backend(kit: Kit, tool: str, mood: Mood) -> None:
    live = await kit.ask(tool, ARGUMENTS[tool], user="u")
    await age(kit, STALE[tool] - 5)
    kit.backends.catalog.mood = kit.backends.titles.mood = mood
    answer = await kit.ask(tool, ARGUMENTS[tool], user="u")
    assert (answer.failure, answer.meta["source"]) == (None, "stale")
    assert [*answer.value] == [*live.value]
    assert "may be out of date" in answer.note


async def test_expired_cache_entry_is_not_served(kit: Kit) -> None:
    """Its result set is kept for half an hour longer."""
    answer = await kit.ask("search_manga_catalog", QUERY)
    assert 88_190 < await ask(kit.redis, "TTL", keys.result_set(answer.value["result_set"])) <= 88_200
    await age(kit, STALE["search_manga_catalog"] + 5)
    kit.backends.catalog.mood = Mood.FAILS
    assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "fallback"


async def test_unreadable_cache_entry_is_a_miss(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", QUERY)
    (name,) = await ask(kit.redis, "KEYS", "manga:mcp:cache:*")
    for nonsense in (b"", b"x", b"1 [1]", b"1 {", b"\xff\xfe", b"9 " + b"[" * 100_000):
        await ask(kit.redis, "SET", name, nonsense)
        assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "live"


TOLD = "I don't like ghosts"
TYPED = {"search_manga_catalog": {"query": "pirates without gore"}, "get_recommendations": {"criteria": "x without gore"}}


@pytest.mark.parametrize("tool", CACHED)
async def test_cache_entry_holds_nothing_of_the_result_and_of_the_words_it_quotes(kit: Kit, tool: str) -> None:
    await kit.ask("remember_preference", {"preference": TOLD}, user="u", session="s")
    live, cached = [await kit.ask(tool, TYPED.get(tool, ARGUMENTS[tool]), user="u", session="s") for _ in range(2)]
    (name,) = await ask(kit.redis, "KEYS", "manga:mcp:cache:*")
    _, _, stored = (await ask(kit.redis, "GET", name)).partition(b" ")
    text = json.dumps(cached.value, ensure_ascii=False)
    assert ("without gore" in text and TOLD in text) is (tool in TYPED)
    assert not [run for at in range(len(text) - 4) if (run := text[at : at + 5].encode()) in stored]
    assert not [word for word in (b"pirate", b"gore", b"ghost") if word in name]
    assert (cached.meta["source"], cached.value) == ("cache", live.value)


async def test_cache_entry_of_other_arguments_is_a_miss(kit: Kit) -> None:
    asked = [{"query": "pirates"}, {"query": "pirates", "max_results": 3}]
    assert [(await kit.ask("search_manga_catalog", each)).meta["source"] for each in asked] == ["live", "live"]
    one, other = await ask(kit.redis, "KEYS", "manga:mcp:cache:*")
    await ask(kit.redis, "SET", one, await ask(kit.redis, "GET", other))
    assert {(await kit.ask("search_manga_catalog", each)).meta["source"] for each in asked} == {"cache", "live"}


WRONG_SHAPES: dict[str, dict[str, Any]] = {
    "search_manga_catalog": {"results": [{"title_id": 7}], "total": 1, "result_set": "rs_x"},
    "get_manga_details": {"title": "no id"},
    "get_recommendations": {"recommendations": {"0": "x"}},
    "preview_manga_pages": {"title_id": "manga-000001", "title": "Pirate Sea", "volume": "1", "pages": []},
    "classify_genre": {"readerships": "shonen", "tags": []},
}


@pytest.mark.parametrize("ladder", [False, True], ids=["fresh", "as the last rung"])
@pytest.mark.parametrize("tool", CACHED)
async def test_cache_entry_of_another_shape_is_a_miss_and_overwritten(kit: Kit, tool: str, ladder: bool) -> None:
    """No part of it is returned, and it raises no error."""
    first = await kit.ask(tool, ARGUMENTS[tool], user="u")
    (name,) = await ask(kit.redis, "KEYS", "manga:mcp:cache:*")
    key = cache_key(first.call)
    assert key is not None
    assert key.name.encode() == name
    wrong = [WRONG_SHAPES[tool], {}, {"error": {"code": 1, "name": "x", "message": "y", "data": {}}}]
    for value in wrong:
        await ask(kit.redis, "SET", name, encode(value, time.time(), key) or b"", "EX", 100)
        if ladder:
            kit.backends.catalog.mood = kit.backends.titles.mood = Mood.FAILS
            assert (await kit.ask(tool, ARGUMENTS[tool], user="u")).meta["source"] == "fallback"
            kit.backends.catalog.mood = kit.backends.titles.mood = Mood.WORKS
            for guard in ("catalog", "titles"):
                await mend(kit.guards[guard].breaker)
            await asyncio.sleep(
                30
            )  # in virtual time: the circuit breaker of names, which is no guard of its own, closes too
        assert (await kit.ask(tool, ARGUMENTS[tool], user="u")).meta["source"] == "live"
        again = await kit.ask(tool, ARGUMENTS[tool], user="u")
        assert (again.meta["source"], again.value) == ("cache", first.value)


@pytest.mark.parametrize("made_at", [-1, 9_999_999_999_999_999, 10**30], ids=str)
async def test_cache_entry_with_an_impossible_timestamp_is_a_miss(kit: Kit, made_at: int) -> None:
    await kit.ask("search_manga_catalog", QUERY)
    (name,) = await ask(kit.redis, "KEYS", "manga:mcp:cache:*")
    _, _, text = (await ask(kit.redis, "GET", name)).partition(b" ")
    await ask(kit.redis, "SET", name, b"%d %s" % (made_at, text))
    assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "live"
    assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "cache"


async def test_versions_with_different_result_forms_share_no_cache_entry(opener: Opener) -> None:
    kit, other = await opener(), await opener()
    other.exchange("search_manga_catalog", form="another")
    await kit.ask("search_manga_catalog", QUERY)
    assert (await other.ask("search_manga_catalog", QUERY)).meta["source"] == "live"
    assert [(await each.ask("search_manga_catalog", QUERY)).meta["source"] for each in (kit, other)] == ["cache", "cache"]


async def test_disabled_cache_makes_every_answer_live_and_writes_nothing(opener: Opener) -> None:
    kit = await opener(cache=False)
    for tool in ARGUMENTS:
        for _ in range(2):
            answer = await kit.ask(tool, ARGUMENTS[tool], user="u")
            assert (answer.failure, answer.meta["source"]) == (None, "live")
    assert (kit.calls_of("search"), kit.calls_of("for_reader")) == (2, 4)
    assert kit.calls_of("availability") == 8, "price and stock are joined live too"
    for _ in range(2):
        assert (await kit.ask("get_manga_details", {"title_id": "manga-999999"})).failure == "NOT_FOUND"
    assert kit.calls_of("get") >= 4, "what is not there is asked for again"
    assert await ask(kit.redis, "KEYS", "manga:mcp:cache:*") == []


async def test_oversized_result_is_answered_and_not_cached(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session.begin.LARGEST_BYTES", 10)
    assert (await kit.ask("search_manga_catalog", QUERY, user="u", idempotency_key="k")).failure is None
    assert await ask(kit.redis.inner, "KEYS", "manga:mcp:cache:*") == []
    assert encode({"a": "b" * 10}, 1.0) is None
