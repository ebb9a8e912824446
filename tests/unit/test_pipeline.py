"""The way of a call, with real neighbours: embedded backends, a real Valkey, real stages in their real order."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from server import pipeline as the_pipeline
from server.call import Call, Handler, Outcome
from server.identity import TrustTokens
from server.stages.admit import Admit
from server.stages.cache import Cache
from server.stages.session import OpenSession
from server.stages.telemetry import Telemetry
from server.telemetry.events import CallFinished
from session.failures import MemoryUnavailable
from session.redis.keyvalue import Command
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.breaker import BreakerState
from session.resilience.clocks import Clocks
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import Rate
from session.result_cache import decode, encode
from tests.support.clocks import HandClock
from tests.support.pipeline import Answer, Kit, open_kit
from tests.support.store import BAD, ORDERS, Backends, Mood
from tests.support.valkey import ask, eventually
from tools.contract import ToolContext
from tools.lookup_order import look_up
from tools.registry import TOOLS
from tools.store.failures import DependencyFailure, TimedOut
from tools.store.models import Order

pytestmark = pytest.mark.virtual_time

QUERY = {"query": "pirates"}
TITLE = {"title_id": "manga-000001"}
IDS = {"title_ids": ["manga-000001", "manga-000002"]}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "search_manga_catalog": QUERY,
    "get_manga_details": TITLE,
    "check_inventory": IDS,
    "get_recommendations": {"criteria": "pirates"},
    "lookup_order": {"order_id": "MNG-UUUU0001"},
}
MAIN_PORTS = {
    "search_manga_catalog": ["catalog"],
    "get_manga_details": ["catalog", "titles"],  # either is enough
    "check_inventory": ["stock"],
    "get_recommendations": ["catalog"],
    "lookup_order": ["orders"],
}
FALLBACKS = {
    "search_manga_catalog": "cached_popular_manga",
    "get_manga_details": "last_known_details",
    "check_inventory": "cached_inventory_snapshot",
    "get_recommendations": "cached_trending_manga",
}
CACHED = ["search_manga_catalog", "get_manga_details", "get_recommendations"]
CODES = {
    Mood.FAILS: "DEPENDENCY_FAILURE",
    Mood.THROTTLES: "DEPENDENCY_FAILURE",
    Mood.DROPS: "DEPENDENCY_FAILURE",
    Mood.HANGS: "TIMEOUT",
}

Opener = Callable[..., Any]


@pytest.fixture
async def opener(redis: MultiplexedRedis, moody: Backends) -> AsyncIterator[Opener]:
    """Opens kits, all over the same Valkey and the same backends: each is a process of its own."""
    async with AsyncExitStack() as stack:

        async def enter(**how: Any) -> Kit:
            kit: AbstractAsyncContextManager[Kit] = open_kit(redis, moody, **how)
            return await stack.enter_async_context(kit)

        yield enter


@pytest.fixture
async def kit(opener: Opener) -> Kit:
    own: Kit = await opener()
    return own


# -- the order


def test_the_order_of_the_stages_is_the_designs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot: whoever changes it changes what a call goes through."""
    seen: list[str] = []

    def note(stages: list[Any], innermost: Any) -> Handler:
        seen.extend(type(each).__name__ for each in [*stages, innermost])
        return innermost  # type: ignore[no-any-return]

    monkeypatch.setattr(the_pipeline, "fold", note)
    parts = the_pipeline.Parts((), None, None, None, None, None, None, 1, 1, cache=True, clocks=Clocks())  # type: ignore[arg-type]
    the_pipeline.build(parts)
    assert seen == [
        "Telemetry", "Guard", "Shed", "Identify", "Validate", "OpenSession", "Idempotency", "Remember", "Complete", "Ladder", "Cache",
        "Admit", "EnforceDeadline", "RunTool",
    ]  # fmt: skip


async def test_fold_runs_stages_from_the_outside_in() -> None:
    seen: list[str] = []

    async def stage(call: Any, inner: Any, *, name: str) -> Any:
        seen.append(name)
        return await inner(call)

    async def innermost(call: Any) -> Any:
        seen.append("tool")
        return call

    run = the_pipeline.fold([partial(stage, name="a"), partial(stage, name="b")], innermost)  # type: ignore[list-item]
    assert await run("call") == "call"  # type: ignore[arg-type, comparison-overlap]
    assert seen == ["a", "b", "tool"]


# -- a call that goes well


@pytest.mark.parametrize("tool", ARGUMENTS)
async def test_every_tool_answers_live_with_two_trips_and_one_event(kit: Kit, tool: str) -> None:
    answer = await kit.ask(tool, ARGUMENTS[tool], session="s", user="u", turn="t")
    assert (answer.failure, answer.meta["source"], answer.meta["degraded"]) == (None, "live", [])
    assert len(kit.redis.trips) == 2
    assert [(event.tool, event.outcome, event.source) for event in kit.events] == [(tool, "ok", "live")]
    assert answer.meta["budget"]["turnId"] == "t"
    assert 0 < answer.meta["budget"]["remainingMs"] <= 2800
    assert json.loads(answer.texts[0]) == answer.value


@pytest.mark.parametrize("tool", ARGUMENTS)
async def test_the_history_says_what_was_called_with_nothing_that_the_tool_does_not_allow(kit: Kit, tool: str) -> None:
    await kit.ask(tool, ARGUMENTS[tool], session="s", user="u")
    (call,) = (await kit.memory.recall("s", "u")).calls
    allowed = set(kit.registry.get(tool).tool.remembered)  # type: ignore[union-attr]
    assert (call["tool"], call["succeeded"], call["cache_hit"]) == (tool, True, False)
    assert set(call["arguments"]) <= allowed  # type: ignore[call-overload]
    assert call["summary"]
    assert int(call["tokens"]) > 0  # type: ignore[call-overload]


async def test_a_search_is_what_check_inventory_refers_to(kit: Kit) -> None:
    found = await kit.ask("search_manga_catalog", QUERY, session="s", user="u")
    checked = await kit.ask("check_inventory", {}, session="s", user="u")
    assert [item["title_id"] for item in checked.value["items"]] == [card["title_id"] for card in found.value["results"]]
    assert checked.value["checked"] == "last_search"
    by_set = await kit.ask("check_inventory", {"result_set": found.value["result_set"].upper().replace("RS_", "rs_")})
    assert by_set.value["items"] == checked.value["items"], "a client without a session can chain too"


async def test_nothing_to_check_and_a_set_nobody_knows_are_the_callers_to_mend(kit: Kit) -> None:
    assert (await kit.ask("check_inventory", {}, session="s", user="u")).failure == "VALIDATION_ERROR"
    assert (await kit.ask("check_inventory", {"result_set": "rs_" + "a" * 16})).failure == "NOT_FOUND"
    assert kit.calls_of("availability") == 0


async def test_check_inventory_refers_to_what_was_shown_last_and_names_it(kit: Kit) -> None:
    """By a search or by recommendations, whichever was later, live or from the cache."""
    person = {"session": "s", "user": "u"}
    wished, search = {"criteria": "romance", "count": 2}, {"query": "chess"}
    for _ in range(2):
        shown = await kit.ask("get_recommendations", wished, **person)
        checked = await kit.ask("check_inventory", {"title_ids": []}, **person)
        assert (checked.value["checked"], checked.value["checked_query"]) == ("last_recommendations", "romance")
        ids = [card["title_id"] for card in shown.value["recommendations"]]
        assert [item["title_id"] for item in checked.value["items"]] == ids
        await kit.ask("search_manga_catalog", search, **person)
        checked = await kit.ask("check_inventory", {}, **person)
        assert (checked.value["checked"], checked.value["checked_query"]) == ("last_search", "chess")
    by_set = await kit.ask("check_inventory", {"result_set": shown.value["result_set"]})
    assert [item["title_id"] for item in by_set.value["items"]] == ids, "a client without a session can chain too"


async def test_after_a_search_that_found_nothing_it_says_that(kit: Kit) -> None:
    nothing = await kit.ask("search_manga_catalog", {"query": "xyzzy", "author": "Nobody At All"}, session="s", user="u")
    assert nothing.value["results"] == []
    for asked in ({}, {"result_set": nothing.value["result_set"]}):
        checked = await kit.ask("check_inventory", asked, session="s", user="u")
        assert (checked.failure, checked.value["items"]) == (None, [])
        assert "so there is nothing to check" in checked.note
    assert "(xyzzy)" in (await kit.ask("check_inventory", {}, session="s", user="u")).note
    assert kit.calls_of("availability") == 0


async def test_stock_rows_carry_the_titles_and_the_catalogue_is_asked_for_each_once(kit: Kit) -> None:
    """Not even once where they were shown; and a catalogue that is away takes the names and nothing else."""
    await kit.ask("search_manga_catalog", QUERY)
    for _ in range(2):
        checked = await kit.ask("check_inventory", IDS)
        assert [item["title"] for item in checked.value["items"]] == ["Pirate Sea", "Chess Ghost"]
    assert kit.calls_of("get") == 0, "the popular ones are known"


@pytest.mark.parametrize("mood", BAD)
async def test_stock_is_told_without_names_when_nobody_knows_them(opener: Opener, moody: Backends, mood: Mood) -> None:
    kit = await opener(warm=False)
    moody.catalog.mood = moody.titles.mood = mood
    for _ in range(8):
        checked = await kit.ask("check_inventory", IDS)
        assert (checked.failure, [item["title"] for item in checked.value["items"]]) == (None, [None, None])
    assert "stock" not in kit.open_breakers()
    if mood is Mood.HANGS:
        assert kit.open_breakers() == [], "who waited so short a time can say nothing of it"
    moody.catalog.mood = moody.titles.mood = Mood.WORKS
    for guard in kit.guards.values():
        guard.breaker._enter(BreakerState.CLOSED)
    asked = kit.calls_of("get")
    for _ in range(2):
        checked = await kit.ask("check_inventory", IDS)
        assert [item["title"] for item in checked.value["items"]] == ["Pirate Sea", "Chess Ghost"]
    assert kit.calls_of("get") == asked + 1


async def test_another_user_of_the_same_session_has_no_last_search(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", QUERY, session="s", user="u")
    for user in ("v", None):
        assert (await kit.ask("check_inventory", {}, session="s", user=user)).failure == "VALIDATION_ERROR"


async def test_a_cached_search_is_the_last_search_too(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", QUERY, session="s", user="u")
    again = await kit.ask("search_manga_catalog", QUERY, session="t", user="v")
    assert again.meta["source"] == "cache"
    assert (await kit.ask("check_inventory", {}, session="t", user="v")).failure is None


# -- the ladder


@pytest.mark.parametrize("mood", BAD)
@pytest.mark.parametrize("tool", FALLBACKS)
async def test_without_its_backend_a_tool_falls_back_and_says_so(kit: Kit, tool: str, mood: Mood) -> None:
    await kit.ask("check_inventory", IDS)  # the snapshot that the fallback of check_inventory is
    kit.clock.advance(6)
    for port in MAIN_PORTS[tool]:
        getattr(kit.backends, port).mood = mood
    answer = await kit.ask(tool, ARGUMENTS[tool], session="s", user="u")
    assert (answer.failure, answer.meta["source"], answer.meta["fallback"]) == (None, "fallback", FALLBACKS[tool])
    assert "fallback" in answer.note
    assert kit.events[-1].fallback == FALLBACKS[tool]


@pytest.mark.parametrize("mood", BAD)
async def test_details_of_a_title_that_is_not_popular_survive_the_catalogue(
    opener: Opener, moody: Backends, mood: Mood
) -> None:
    """Found a moment before by a search, kept nowhere: the store's own record answers, and says who is missing."""
    kit = await opener(warm=False)
    found = (await kit.ask("search_manga_catalog", QUERY)).value["results"][0]["title_id"]
    asked = {"title_id": found}
    before = await kit.ask("get_manga_details", {"title_id": "manga-000002"})
    moody.catalog.mood = mood
    answer = await kit.ask("get_manga_details", asked, user="u", session="s")
    assert (answer.failure, answer.meta["source"], answer.meta["degraded"]) == (None, "live", ["catalog"])
    assert (answer.value["title_id"], answer.value["price_jpy"]) == (found, 501)
    assert [each["title_id"] for each in answer.value["related"]] == ["manga-000002"]
    assert (before.meta["degraded"], [*before.value]) == ([], [*answer.value])
    again = await kit.ask("get_manga_details", asked, user="u", session="s")
    assert again.meta["source"] == "live", "what was made without the catalogue is not kept"


class Halved:
    """A catalogue whose texts hold half a character, which no UTF-8 can write."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def search(self, *asked: Any) -> Any:
        page = await self.inner.search(*asked)
        return replace(page, titles=tuple(map(self.half, page.titles)))

    async def get(self, *asked: Any) -> Any:
        return {title_id: self.half(title) for title_id, title in (await self.inner.get(*asked)).items()}

    async def alike(self, *asked: Any) -> Any:
        return tuple(map(self.half, await self.inner.alike(*asked)))

    def half(self, title: Any) -> Any:
        return replace(title, en=f"{title.en} \ud800", synopsis_en="half \udfff of it", tags=("Drama\ud800",))


@pytest.mark.parametrize("tool", CACHED)
async def test_half_a_character_out_of_a_backend_costs_no_answer(kit: Kit, tool: str) -> None:
    """Loading refuses it; what comes all the same is shown without it, live and from the cache."""
    kit.backends.catalog.inner = Halved(kit.backends.catalog.inner)
    for source in ("live", "cache"):
        answer = await kit.ask(tool, ARGUMENTS[tool], user="u", session="s")
        assert (answer.failure, answer.meta["source"]) == (None, source)
        assert json.dumps(answer.value, ensure_ascii=False).encode()


async def test_details_cost_the_records_nothing_in_good_times(kit: Kit) -> None:
    """One request for the title, one for the titles it is related to, both of the catalogue."""
    await kit.ask("get_manga_details", TITLE)
    assert kit.backends.titles.asked == []
    assert kit.calls_of("get") == 2


async def test_a_title_that_the_records_lack_while_the_catalogue_is_away_is_not_called_absent(kit: Kit) -> None:
    """They may be older than the catalogue: the honest answer is that nobody can say now."""
    kit.backends.catalog.mood = Mood.FAILS
    assert (await kit.ask("get_manga_details", {"title_id": "new-arrival"})).failure == "DEPENDENCY_FAILURE"


@pytest.mark.parametrize("mood", BAD)
@pytest.mark.parametrize("tool", ARGUMENTS)
async def test_with_nothing_below_the_failure_itself_is_told(opener: Opener, moody: Backends, tool: str, mood: Mood) -> None:
    kit = await opener(tools=[replace(tool, fallback=None) for tool in TOOLS])
    for port in MAIN_PORTS[tool]:
        getattr(moody, port).mood = mood
    answer = await kit.ask(tool, ARGUMENTS[tool], user="u")
    assert answer.failure == CODES[mood]
    assert answer.result["isError"]
    error = answer.result["structuredContent"]["error"]
    assert error["data"]["retryable"]
    assert error["data"]["request_id"] == answer.call.call_id
    assert "10.0.0.7" not in json.dumps(answer.result)


@pytest.mark.parametrize("tool", FALLBACKS)
async def test_a_fallback_that_knows_nothing_either_leaves_the_first_failure(
    opener: Opener, moody: Backends, tool: str
) -> None:
    kit = await opener(warm=False)
    for port in MAIN_PORTS[tool]:
        getattr(moody, port).mood = Mood.HANGS
    assert (await kit.ask(tool, ARGUMENTS[tool])).failure == "TIMEOUT"


async def test_orders_have_no_fallback(kit: Kit) -> None:
    kit.backends.orders.mood = Mood.FAILS
    assert (await kit.ask("lookup_order", ARGUMENTS["lookup_order"], user="u")).failure == "DEPENDENCY_FAILURE"


@pytest.mark.parametrize("tool", CACHED)
async def test_a_fresh_result_is_given_without_asking_the_backend(kit: Kit, tool: str) -> None:
    live = await kit.ask(tool, ARGUMENTS[tool], user="u")
    kit.backends.catalog.mood = Mood.BREAKS
    cached = await kit.ask(tool, ARGUMENTS[tool], user="u")
    assert (cached.meta["source"], cached.value) == ("cache", live.value)
    assert cached.meta["asOf"]


async def age(kit: Kit, seconds: float) -> None:
    """Makes every cached result older."""
    for name in await ask(kit.redis, "KEYS", "manga:mcp:cache:*"):
        made_at, _, text = (await ask(kit.redis, "GET", name)).partition(b" ")
        await ask(kit.redis, "SET", name, b"%d %s" % (int(made_at) - int(seconds * 1000), text), "KEEPTTL")


FRESH = {tool.name: tool.cache.fresh_seconds for tool in TOOLS if tool.cache}
STALE = {tool.name: tool.cache.stale_seconds for tool in TOOLS if tool.cache}


@pytest.mark.parametrize("tool", CACHED)
async def test_a_result_a_little_too_old_is_given_at_once_and_renewed_behind_it(kit: Kit, tool: str) -> None:
    await kit.ask(tool, ARGUMENTS[tool], user="u", session="s")
    await age(kit, FRESH[tool] + 1)
    history = len((await kit.memory.recall("s", "u")).calls)
    stale = await kit.ask(tool, ARGUMENTS[tool], user="u")
    assert stale.meta["source"] == "stale"
    assert "may be out of date" in stale.note
    await eventually(lambda: not kit.pipeline.cache.refreshes)
    assert (await kit.ask(tool, ARGUMENTS[tool], user="u")).meta["source"] == "cache"
    assert len((await kit.memory.recall("s", "u")).calls) == history, "a refresh writes no session"


async def test_of_many_stale_hits_one_refreshes_and_refreshes_yield_to_live_calls(kit: Kit) -> None:
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


async def test_a_refresh_is_cut_off_at_the_tools_own_time_and_its_work_with_it(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", QUERY)
    await age(kit, 301)
    kit.backends.catalog.mood = Mood.HANGS
    assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "stale"
    await eventually(lambda: not kit.pipeline.cache.refreshes)
    assert kit.backends.catalog.cancelled >= 1


async def test_a_refresh_that_had_to_do_without_something_is_not_kept(kit: Kit) -> None:
    await kit.ask("get_recommendations", {"criteria": "x"}, user="u")
    await age(kit, 61)
    kit.backends.orders.mood = Mood.FAILS
    assert (await kit.ask("get_recommendations", {"criteria": "x"}, user="u")).meta["source"] == "stale"
    await eventually(lambda: not kit.pipeline.cache.refreshes)
    assert (await kit.ask("get_recommendations", {"criteria": "x"}, user="u")).meta["source"] == "stale"


async def test_a_refresh_that_fails_leaves_the_stale_result(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    await kit.ask("search_manga_catalog", QUERY)
    await age(kit, 301)
    kit.backends.catalog.mood = Mood.FAILS
    for _ in range(2):
        assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "stale"
        await eventually(lambda: not kit.pipeline.cache.refreshes)
    assert not caplog.records


@pytest.mark.parametrize("mood", BAD)
@pytest.mark.parametrize("tool", CACHED)
async def test_an_old_result_stands_in_for_a_backend_that_does_not_deliver(kit: Kit, tool: str, mood: Mood) -> None:
    live = await kit.ask(tool, ARGUMENTS[tool], user="u")
    await age(kit, STALE[tool] - 5)
    kit.backends.catalog.mood = kit.backends.titles.mood = mood
    answer = await kit.ask(tool, ARGUMENTS[tool], user="u")
    assert (answer.failure, answer.meta["source"]) == (None, "stale")
    assert [*answer.value] == [*live.value]
    assert "may be out of date" in answer.note


async def test_a_result_that_is_too_old_is_not_given(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", QUERY)
    await age(kit, STALE["search_manga_catalog"] + 5)
    kit.backends.catalog.mood = Mood.FAILS
    assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "fallback"


async def test_a_cache_that_holds_nonsense_is_a_miss(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", QUERY)
    (name,) = await ask(kit.redis, "KEYS", "manga:mcp:cache:*")
    for nonsense in (b"", b"x", b"1 [1]", b"1 {", b"\xff\xfe", b"9 " + b"[" * 100_000):
        await ask(kit.redis, "SET", name, nonsense)
        assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "live"


WRONG_SHAPES: dict[str, dict[str, Any]] = {
    "search_manga_catalog": {"results": [{"title_id": 7}], "total": 1, "result_set": "rs_x"},
    "get_manga_details": {"title": "no id"},
    "get_recommendations": {"recommendations": {"0": "x"}},
}


@pytest.mark.parametrize("ladder", [False, True], ids=["fresh", "as the last rung"])
@pytest.mark.parametrize("tool", CACHED)
async def test_a_cached_result_of_another_shape_is_a_miss_and_overwritten(kit: Kit, tool: str, ladder: bool) -> None:
    """Nothing of it is told, nothing breaks over it, and the next one is right again."""
    first = await kit.ask(tool, ARGUMENTS[tool], user="u")
    (name,) = await ask(kit.redis, "KEYS", "manga:mcp:cache:*")
    wrong = [WRONG_SHAPES[tool], {}, {"error": {"code": 1, "name": "x", "message": "y", "data": {}}}]
    for value in wrong:
        await ask(kit.redis, "SET", name, encode(value, time.time()) or b"", "EX", 100)
        if ladder:
            kit.backends.catalog.mood = kit.backends.titles.mood = Mood.FAILS
            assert (await kit.ask(tool, ARGUMENTS[tool], user="u")).meta["source"] == "fallback"
            kit.backends.catalog.mood = kit.backends.titles.mood = Mood.WORKS
            for guard in ("catalog", "titles"):
                kit.guards[guard].breaker._enter(BreakerState.CLOSED)
        assert (await kit.ask(tool, ARGUMENTS[tool], user="u")).meta["source"] == "live"
        again = await kit.ask(tool, ARGUMENTS[tool], user="u")
        assert (again.meta["source"], again.value) == ("cache", first.value)


@pytest.mark.parametrize("made_at", [-1, 9_999_999_999_999_999, 10**30], ids=str)
async def test_a_cached_result_of_a_time_that_cannot_be_is_a_miss(kit: Kit, made_at: int) -> None:
    await kit.ask("search_manga_catalog", QUERY)
    (name,) = await ask(kit.redis, "KEYS", "manga:mcp:cache:*")
    _, _, text = (await ask(kit.redis, "GET", name)).partition(b" ")
    await ask(kit.redis, "SET", name, b"%d %s" % (made_at, text))
    assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "live"
    assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "cache"


async def test_versions_whose_results_look_different_do_not_share_a_cache(opener: Opener) -> None:
    kit, other = await opener(), await opener()
    registered = other.registry.get("search_manga_catalog")
    other.registry._by_name["search_manga_catalog"] = replace(registered, form="another")
    await kit.ask("search_manga_catalog", QUERY)
    assert (await other.ask("search_manga_catalog", QUERY)).meta["source"] == "live"
    assert [(await each.ask("search_manga_catalog", QUERY)).meta["source"] for each in (kit, other)] == ["cache", "cache"]


async def test_without_a_cache_everything_is_live_and_nothing_is_written(opener: Opener) -> None:
    kit = await opener(cache=False)
    for tool in ARGUMENTS:
        for _ in range(2):
            answer = await kit.ask(tool, ARGUMENTS[tool], user="u")
            assert (answer.failure, answer.meta["source"]) == (None, "live")
    assert kit.calls_of("search") == 4
    assert kit.calls_of("availability") == 8, "price and stock are joined live too"
    for _ in range(2):
        assert (await kit.ask("get_manga_details", {"title_id": "manga-999999"})).failure == "NOT_FOUND"
    assert kit.calls_of("get") >= 4, "what is not there is asked for again"
    assert await ask(kit.redis, "KEYS", "manga:mcp:cache:*") == []


@pytest.mark.parametrize("tool", FALLBACKS)
async def test_without_a_cache_the_last_rung_is_still_there(opener: Opener, moody: Backends, tool: str) -> None:
    kit = await opener(cache=False)
    await kit.ask("check_inventory", IDS)
    for port in MAIN_PORTS[tool]:
        getattr(moody, port).mood = Mood.FAILS
    answer = await kit.ask(tool, ARGUMENTS[tool])
    assert (answer.failure, answer.meta["source"], answer.meta["fallback"]) == (None, "fallback", FALLBACKS[tool])


# -- what is not there


async def test_a_wrong_title_id_costs_the_catalogue_one_call_and_is_not_found_each_time(kit: Kit) -> None:
    wrong = {"title_id": "manga-999999"}
    answers = [await kit.ask("get_manga_details", wrong, session=f"s{n}") for n in range(4)]
    assert kit.calls_of("get") == 1
    told = [answer.result["structuredContent"]["error"] for answer in answers]
    for error in told:
        error["data"].pop("request_id")
    assert told == [told[0]] * 4
    assert (told[0]["name"], answers[-1].result["isError"]) == ("NOT_FOUND", True)
    kit.backends.catalog.mood = Mood.FAILS
    assert (await kit.ask("get_manga_details", wrong)).failure == "NOT_FOUND"


async def test_a_wrong_id_costs_the_stock_one_call_in_half_a_minute(kit: Kit) -> None:
    mixed = {"title_ids": ["manga-999999", "manga-000001"]}
    for _ in range(4):
        answer = await kit.ask("check_inventory", mixed)
        assert (answer.value["not_found"], answer.meta["source"]) == (["manga-999999"], "live")
        kit.clock.advance(6)
    asked = [list(arguments[0]) for _, arguments in kit.backends.stock.asked]
    assert asked == [["manga-999999", "manga-000001"], *[["manga-000001"]] * 3]
    kit.clock.advance(7)
    await kit.ask("check_inventory", mixed)
    assert "manga-999999" in kit.backends.stock.asked[-1][1][0]


async def test_an_order_that_is_not_there_is_looked_for_each_time(kit: Kit) -> None:
    for _ in range(2):
        assert (await kit.ask("lookup_order", {"order_id": "MNG-XXXX9999"}, user="u")).failure == "NOT_FOUND"
    assert kit.calls_of("order") == 2


async def test_only_live_and_whole_results_are_kept(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.FAILS
    await kit.ask("search_manga_catalog", QUERY)
    await kit.ask("get_recommendations", {"criteria": "x"})
    kit.backends.catalog.mood, kit.backends.orders.mood = Mood.WORKS, Mood.FAILS
    answer = await kit.ask("get_recommendations", {"criteria": "x"}, user="u")
    assert answer.meta["degraded"] == ["profile"]
    assert await ask(kit.redis, "KEYS", "manga:mcp:cache:*") == []


async def test_results_about_a_user_are_that_users(kit: Kit) -> None:
    """The same question by three callers: nobody is answered with what another one bought."""
    answers = {
        user: await kit.ask("get_recommendations", {"criteria": "story", "count": 6}, user=user) for user in ("u", "v", None)
    }
    ids = {user: {card["title_id"] for card in answer.value["recommendations"]} for user, answer in answers.items()}
    assert {answer.meta["source"] for answer in answers.values()} == {"live"}
    assert "manga-000001" not in ids["u"]
    assert not {"manga-000002", "manga-000003"} & ids["v"]
    assert answers[None].value["based_on"] == ["criteria", "popularity"]
    assert len(await ask(kit.redis, "KEYS", "manga:mcp:cache:*:get_recommendations:*")) == 3
    at_once = await asyncio.gather(
        *(kit.ask("get_recommendations", {"criteria": "other", "count": 6}, user=user) for user in ("u", "v") * 3)
    )
    for user, answer in zip(("u", "v") * 3, at_once, strict=True):
        owned = {"u": {"manga-000001"}, "v": {"manga-000002", "manga-000003"}}[user]
        assert not owned & {card["title_id"] for card in answer.value["recommendations"]}


async def test_what_a_customer_owns_is_not_recommended_while_the_catalogue_is_away(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.HANGS
    answer = await kit.ask("get_recommendations", {"criteria": "story", "count": 6}, user="u")
    assert answer.meta["source"] == "fallback"
    ids = {card["title_id"] for card in answer.value["recommendations"]}
    assert ids
    assert "manga-000001" not in ids


async def test_orders_are_never_cached(kit: Kit) -> None:
    for _ in range(2):
        answer = await kit.ask("lookup_order", ARGUMENTS["lookup_order"], user="u", session="s", idempotency_key="k")
        assert answer.meta["source"] == "live"
    assert kit.calls_of("order") == 2
    stored = [await dump(kit, name) for name in await ask(kit.redis, "KEYS", "*")]
    assert not any("MNG-UUUU0001" in text for text in stored), "an order was written down"


async def dump(kit: Kit, name: bytes) -> str:
    kind = await ask(kit.redis, "TYPE", name)
    command = {b"string": ("GET",), b"hash": ("HGETALL",), b"list": ("LRANGE",)}[kind]
    more = (0, -1) if kind == b"list" else ()
    return str(await ask(kit.redis, *command, name, *more))


# -- personal data


async def test_an_anonymous_caller_gets_no_order(kit: Kit) -> None:
    answer = await kit.ask("lookup_order", ARGUMENTS["lookup_order"], session="s")
    assert answer.failure == "FORBIDDEN"
    assert kit.calls_of("order") == 0


async def test_an_order_of_somebody_else_and_one_that_never_was_are_one_answer(kit: Kit) -> None:
    answers = [
        await kit.ask("lookup_order", {"order_id": order_id}, user="u", session="s")
        for order_id in ("MNG-VVVV0001", "MNG-XXXX9999")
    ]
    told = [answer.result["structuredContent"]["error"] for answer in answers]
    for error in told:
        error["data"].pop("request_id")
    assert told[0] == told[1]
    assert told[0]["name"] == "NOT_FOUND"
    calls = (await kit.memory.recall("s", "u")).calls
    assert [call["summary"] for call in calls] == ["NOT_FOUND", "NOT_FOUND"]


async def test_a_user_id_that_is_not_the_caller_gets_an_unpersonal_answer_and_a_note(kit: Kit) -> None:
    """Nobody's orders and views are in it, neither the caller's own nor the other's, and it is nobody's cached answer."""
    asked = {"criteria": "pirates"}
    own = await kit.ask("get_recommendations", asked | {"user_id": "u"}, user="u")
    assert "purchases" in own.value["based_on"]
    assert not own.note
    nobodys = await kit.ask("get_recommendations", asked)
    reads = kit.calls_of("purchased"), kit.calls_of("recall")
    for user in ("v", None):
        answer = await kit.ask("get_recommendations", asked | {"user_id": "u"}, user=user)
        assert answer.failure is None
        assert "not the customer" in answer.note
        assert answer.value["recommendations"] == nobodys.value["recommendations"]
        assert answer.value["based_on"] == ["criteria", "popularity"]
    assert (kit.calls_of("purchased"), kit.calls_of("recall")) == reads
    assert "purchases" in (await kit.ask("get_recommendations", asked, user="v")).value["based_on"]


async def test_an_unpersonal_answer_is_not_replayed_for_a_personal_question(kit: Kit) -> None:
    """One idempotency key, and arguments that differ in whom they are for."""
    asked = {"criteria": "pirates"}
    assert (await kit.ask("get_recommendations", asked | {"user_id": "v"}, user="u", idempotency_key="k")).failure is None
    assert (await kit.ask("get_recommendations", asked, user="u", idempotency_key="k")).failure == "VALIDATION_ERROR"


@pytest.mark.parametrize("tool", ARGUMENTS)
async def test_who_calls_among_the_arguments_is_ignored_and_said(kit: Kit, tool: str) -> None:
    given = ARGUMENTS[tool] | {"session_id": "another", "turnId": 7, "user_token": "hunter2"}
    answer = await kit.ask(tool, given, user="u", session="s")
    assert answer.failure is None
    assert answer.note.startswith("Ignored: session_id, turnId, user_token.")
    assert "hunter2" not in json.dumps(answer.result)
    assert (answer.call.session, answer.call.principal.user) == ("s", "u")


async def test_a_user_id_where_none_is_taken_counts_for_nothing(kit: Kit) -> None:
    order = {"order_id": "MNG-UUUU0001"}
    own = await kit.ask("lookup_order", order | {"user_id": "u"}, user="u")
    assert (own.value["order_id"], own.note) == ("MNG-UUUU0001", "")
    other = await kit.ask("lookup_order", order | {"user_id": "v"}, user="u")
    assert "Ignored: user_id" in other.note
    assert other.value["order_id"] == "MNG-UUUU0001"
    assert (await kit.ask("lookup_order", order | {"user_id": "u"}, user="v")).failure == "NOT_FOUND"
    assert (await kit.ask("lookup_order", order | {"user_id": "u"})).failure == "FORBIDDEN"


@pytest.mark.parametrize("user", ["ｔａｒｏ", "cafe\u0301", "読者\u200b太郎"])
async def test_ones_own_user_id_is_fine_however_its_characters_are_composed(kit: Kit, user: str) -> None:
    answer = await kit.ask("get_recommendations", {"criteria": "x", "user_id": user}, user=user)
    assert answer.failure is None


async def test_without_a_number_a_customer_gets_their_own_latest_orders(kit: Kit) -> None:
    """As a shopper would call their state; and nobody else's, signed in or not."""
    listed = await kit.ask("lookup_order", {}, user="u", session="s")
    assert [row["order_id"] for row in listed.value["orders"]] == ["MNG-UUUU0001"]
    assert listed.value["orders"][0]["status"] == "in_transit"
    assert (await kit.ask("lookup_order", {}, user="w")).value == {
        "kind": "latest_orders",
        "orders": [],
        "note": "This customer has no orders.",
    }
    asked = kit.calls_of("latest")
    assert (await kit.ask("lookup_order", {})).failure == "FORBIDDEN"
    assert kit.calls_of("latest") == asked
    assert [event.audited for event in kit.events] == [{}, {}, {}]
    assert "MNG-" not in json.dumps((await kit.memory.recall("s", "u")).calls)


@pytest.mark.parametrize(("hours", "late"), [(0, False), (24, True)])
async def test_what_is_late_is_told_by_the_stores_clock(kit: Kit, hours: int, late: bool) -> None:
    order = replace(ORDERS[0][1], estimated_delivery="2026-10-03")

    class Orders:
        async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
            return (order,)

    moment = datetime(2026, 10, 3, 3, tzinfo=UTC) + timedelta(hours=hours)
    store = replace(kit.store, orders=Orders(), now=lambda: moment)  # type: ignore[arg-type]
    told = await look_up(ToolContext(store, "u", Deadline.after(5)), {})
    assert told["orders"][0]["late"] is late


@pytest.mark.parametrize("tool", ARGUMENTS)
@pytest.mark.parametrize("wrong", [False, True])
async def test_every_answer_of_every_tool_can_carry_a_note_in_its_one_text(kit: Kit, tool: str, wrong: bool) -> None:
    """The kit checks each against the tool's schema, and its text against it."""
    arguments = ARGUMENTS[tool] | ({"max_results": "all", "colour": 1} if wrong else {"turn_id": "t"})
    answer = await kit.ask(tool, arguments, user="u", session="s", turn="t", turn_budget_ms=600)
    assert answer.failure == ("VALIDATION_ERROR" if wrong else None)
    assert ("Ignored: turn_id" in answer.note, "nearly used up" in answer.note) == (not wrong, not wrong)


async def test_many_names_that_say_who_calls_make_no_long_note(kit: Kit) -> None:
    names = {"session" + "_" * n + "id": "x" for n in range(1, 25)} | {"session\u200b_id": 1, "SESSION-ID": 2}
    answer = await kit.ask("search_manga_catalog", QUERY | names)
    assert answer.failure is None
    assert len(answer.note) < 300
    odd = await kit.ask("search_manga_catalog", QUERY | {"session_id 次の指示": 1})
    assert odd.failure == "VALIDATION_ERROR"


# -- caller errors


async def caller_errors(kit: Kit) -> list[str | None]:
    asked = [
        await kit.ask("search_manga_catalog", {"max_results": 99}),
        await kit.ask("get_manga_details", {"title_id": "manga-999999"}),
        await kit.ask("check_inventory", {}, session="empty"),
        await kit.ask("lookup_order", {"order_id": "MNG-XXXX9999"}, user="u"),
        await kit.ask("lookup_order", {"order_id": "MNG-XXXX9999"}),
        await kit.ask("search_manga_catalog", QUERY, session="bad session"),
        await kit.ask("search_manga_catalog", QUERY, user="u", user_conflict=True),
        await kit.ask("search_manga_catalog", QUERY, turn_budget_ms="soon"),
        await kit.ask("search_manga_catalog", QUERY, expected_calls=0),
    ]
    return [answer.failure for answer in asked]


async def test_caller_errors_are_told_as_they_are_and_open_no_breaker(kit: Kit) -> None:
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


async def test_arguments_that_were_refused_are_not_told_on(kit: Kit) -> None:
    """They can be anything: a card number in the wrong field, a megabyte of text."""
    await kit.ask("get_manga_details", {"title_id": "4111 1111 1111 1111"}, session="s", user="u")
    assert kit.events[-1].arguments == {}
    await kit.ask("get_manga_details", {"title_id": "090-1234-5678"}, session="s", user="u")
    assert kit.events[-1].arguments == {}, "the id of no title may be anything as well"
    await kit.ask("get_manga_details", TITLE, session="s", user="u")
    assert kit.events[-1].arguments == TITLE
    calls = (await kit.memory.recall("s", "u")).calls
    assert [call["arguments"] for call in calls] == [TITLE, {}]


# -- single flight


async def test_equal_calls_at_once_are_one_backend_call(kit: Kit) -> None:
    kit.backends.catalog.gate = asyncio.Event()
    tasks = [asyncio.create_task(kit.ask("search_manga_catalog", QUERY, user=f"u{n}", session=f"s{n}")) for n in range(20)]
    await eventually(lambda: _waiting(kit) == 20)
    kit.backends.catalog.gate.set()
    answers = await asyncio.gather(*tasks)
    assert kit.calls_of("search") == 1
    assert len({answer.texts[0] for answer in answers}) == 1
    writes = [step for trip in kit.redis.trips for step in trip if isinstance(step, Command) and step[0] == "SET"]
    assert len([step for step in writes if ":cache:" in str(step[1])]) == 1


def _waiting(kit: Kit) -> int:
    return sum(flight.waiting for flight in kit.pipeline.cache.flights.values())


async def test_calls_that_are_not_equal_fly_apart(kit: Kit) -> None:
    asked = [
        ("check_inventory", IDS, {"user": "u"}),
        ("check_inventory", IDS, {"user": "v"}),
        ("check_inventory", IDS, {"user": "v", "session": "s"}),
        ("lookup_order", ARGUMENTS["lookup_order"], {"user": "u"}),
        ("lookup_order", ARGUMENTS["lookup_order"], {"user": "v"}),
    ]
    kit.backends.stock.gate = kit.backends.orders.gate = asyncio.Event()
    calls = asyncio.gather(*(kit.ask(tool, arguments, **who) for tool, arguments, who in asked))
    await eventually(lambda: len(kit.pipeline.cache.flights) == 5)
    kit.backends.stock.gate.set()
    answers = await calls
    assert [answer.failure for answer in answers] == [None, None, None, None, "NOT_FOUND"]


async def test_the_first_caller_may_leave_while_others_wait_and_the_result_is_still_kept(kit: Kit) -> None:
    kit.backends.catalog.gate = asyncio.Event()
    first = asyncio.create_task(kit.ask("search_manga_catalog", QUERY))
    await eventually(lambda: _waiting(kit) == 1)
    second = asyncio.create_task(kit.ask("search_manga_catalog", QUERY))
    await eventually(lambda: _waiting(kit) == 2)
    first.cancel()
    await eventually(first.done)
    kit.backends.catalog.gate.set()
    assert (await second).failure is None
    assert (kit.calls_of("search"), kit.backends.catalog.cancelled) == (1, 0)
    assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "cache"


async def test_the_last_caller_that_leaves_cancels_the_work(kit: Kit) -> None:
    kit.backends.catalog.gate = asyncio.Event()
    tasks = [asyncio.create_task(kit.ask("search_manga_catalog", QUERY)) for _ in range(3)]
    await eventually(lambda: _waiting(kit) == 3)
    (flight,) = kit.pipeline.cache.flights.values()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert flight.task.cancelling(), "not only at its deadline"
    await eventually(lambda: kit.backends.catalog.cancelled == 1)
    await eventually(lambda: not kit.pipeline.cache.flights)
    kit.backends.catalog.gate.set()
    assert (await kit.ask("search_manga_catalog", QUERY)).failure is None, "a flight that was cancelled is not joined"


async def test_a_caller_with_little_time_leaves_and_the_others_get_their_answer(kit: Kit) -> None:
    kit.backends.catalog.gate = asyncio.Event()
    patient = asyncio.create_task(kit.ask("search_manga_catalog", QUERY, turn="a", session="s"))
    await eventually(lambda: _waiting(kit) == 1)
    hurried = await kit.ask("search_manga_catalog", QUERY, turn_budget_ms=310, turn="b", session="s")
    assert hurried.meta["source"] == "fallback"
    kit.backends.catalog.gate.set()
    assert (await patient).meta["source"] == "live"


async def test_what_an_answer_had_to_do_without_is_told_to_all_who_share_it(kit: Kit) -> None:
    kit.backends.orders.mood = Mood.FAILS
    answers = await asyncio.gather(*(kit.ask("get_recommendations", {"criteria": "x"}, user="u") for _ in range(3)))
    assert kit.calls_of("search") == 1
    assert [answer.meta["degraded"] for answer in answers] == [["profile"]] * 3


async def test_closing_cancels_what_still_flies(opener: Opener, moody: Backends) -> None:
    kit = await opener()
    moody.catalog.gate = asyncio.Event()
    task = asyncio.create_task(kit.ask("search_manga_catalog", QUERY))
    await eventually(lambda: kit.calls_of("search") == 1)  # somebody waits a moment before the flight has asked
    await kit.pipeline.cache.aclose()
    assert (await task).meta["source"] == "fallback"
    assert moody.catalog.cancelled == 1


async def test_a_late_landing_does_not_disturb_the_next_flight(kit: Kit) -> None:
    """A cancelled flight that takes its time to end, and a new one of the same key in the meantime."""
    cache: Cache = kit.pipeline.cache
    slow = asyncio.Event()

    async def stubborn(call: Call) -> Outcome:
        try:
            await slow.wait()
        except asyncio.CancelledError:
            await slow.wait()
            raise
        return Outcome({"ok": True})

    async def quick(call: Call) -> Outcome:
        return Outcome({"ok": True})

    call = kit.call("search_manga_catalog", QUERY)
    await kit.pipeline.run(call)
    call.begun.cached = None  # type: ignore[union-attr]
    first = asyncio.create_task(cache(call, stubborn))
    await eventually(lambda: bool(cache.flights))
    (flight,) = cache.flights.values()
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert (await cache(call, quick)).value == {"ok": True}
    assert not flight.task.done()
    slow.set()
    await asyncio.gather(flight.task, return_exceptions=True)
    assert cache.flights == {}


# -- idempotency


async def test_the_same_key_again_is_the_same_answer_without_the_work(kit: Kit) -> None:
    first = await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    again = await kit.ask("check_inventory", IDS, user="u", session="other", idempotency_key="k")
    assert again.value == first.value
    assert kit.calls_of("availability") == 1
    assert again.meta["source"] == "live"


async def test_a_key_with_other_arguments_or_another_tool_is_a_mistake(kit: Kit) -> None:
    await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    for tool, arguments in (("check_inventory", {"title_ids": ["manga-000003"]}), ("get_manga_details", TITLE)):
        answer = await kit.ask(tool, arguments, user="u", idempotency_key="k")
        assert answer.failure == "VALIDATION_ERROR"
        assert "another tool or other arguments" in answer.texts[0]


async def test_keys_of_two_users_and_of_two_anonymous_sessions_do_not_meet(kit: Kit) -> None:
    for n, who in enumerate([{"user": "u"}, {"user": "v"}, {"session": "s"}, {"session": "t"}, {}, {}], start=1):
        answer = await kit.ask("check_inventory", {"title_ids": [f"manga-00000{n}"]}, idempotency_key="k", **who)
        assert answer.failure is None
    assert len(await ask(kit.redis, "KEYS", "manga:mcp:once:*")) == 4


async def test_a_key_that_runs_here_is_joined(kit: Kit) -> None:
    kit.backends.stock.gate = asyncio.Event()
    first = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    await eventually(lambda: kit.calls_of("availability") == 1)
    second = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", session="s", idempotency_key="k"))
    await eventually(lambda: len(kit.redis.trips) == 2)
    kit.backends.stock.gate.set()
    assert (await second).value == (await first).value
    assert kit.calls_of("availability") == 1


async def test_a_key_that_ended_here_while_it_was_asked_for_is_joined_too(kit: Kit) -> None:
    """It ran when Redis was asked, and is not settled yet: its outcome is at hand, so nobody is sent away."""
    kit.backends.stock.gate = asyncio.Event()
    first = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    await eventually(lambda: kit.calls_of("availability") == 1)
    inner, asked, release = kit.redis.inner, asyncio.Event(), asyncio.Event()

    class Slow:
        async def trip(self, steps: Any, deadline: Deadline) -> Any:
            replies = await inner.trip(steps, Deadline.after(5))
            asked.set()
            await release.wait()
            return replies

        async def aclose(self) -> None: ...

    kit.redis.inner = Slow()  # type: ignore[assignment]
    second = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", session="s", idempotency_key="k"))
    await asked.wait()
    kit.redis.inner = inner
    kit.backends.stock.gate.set()
    done = await first
    release.set()
    assert (await second).value == done.value
    assert kit.calls_of("availability") == 1


async def test_a_key_that_runs_elsewhere_is_busy(opener: Opener, moody: Backends) -> None:
    here, there = await opener(), await opener()
    moody.stock.gate = asyncio.Event()
    first = asyncio.create_task(here.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    await eventually(lambda: here.calls_of("availability") == 1)
    answer = await there.ask("check_inventory", IDS, user="u", idempotency_key="k")
    assert (answer.failure, answer.outcome.failure.retry_after_ms) == ("SERVER_BUSY", 100)  # type: ignore[union-attr]
    assert answer.result["structuredContent"]["error"]["data"]["fallback_available"]
    moody.stock.gate.set()
    assert (await there.ask("check_inventory", IDS, user="u", idempotency_key="other")).failure is None
    done = await first
    assert (await there.ask("check_inventory", IDS, user="u", idempotency_key="k")).value == done.value


async def test_a_call_that_failed_leaves_its_key_free_and_who_had_joined_is_told_to_try_again(kit: Kit) -> None:
    kit.backends.orders.gate = asyncio.Event()
    plain = replace(kit.registry.get("check_inventory").tool, fallback=None)  # type: ignore[union-attr]
    kit.registry._by_name["check_inventory"] = replace(kit.registry.get("check_inventory"), tool=plain)  # type: ignore[type-var]
    kit.backends.stock.mood = Mood.HANGS
    first = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    await eventually(lambda: kit.calls_of("availability") == 1)
    patient = replace(plain, timeout_ms=1000)
    kit.registry._by_name["check_inventory"] = replace(kit.registry.get("check_inventory"), tool=patient)  # type: ignore[type-var]
    second = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    assert [(await first).failure, (await second).failure] == ["TIMEOUT", "SERVER_BUSY"]
    kit.backends.stock.mood = Mood.WORKS
    assert (await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")).failure is None


async def test_who_joins_waits_no_longer_than_their_own_time(kit: Kit) -> None:
    kit.backends.catalog.gate = asyncio.Event()
    first = asyncio.create_task(kit.ask("search_manga_catalog", QUERY, user="u", idempotency_key="k"))
    await eventually(lambda: kit.calls_of("search") == 1)
    hurried = await kit.ask("search_manga_catalog", QUERY, user="u", idempotency_key="k", turn="t", turn_budget_ms=310)
    assert hurried.failure == "TIMEOUT"
    kit.backends.catalog.gate.set()
    assert (await first).failure is None


async def test_a_cancelled_call_leaves_its_key_free_at_once(kit: Kit) -> None:
    """The caller whose connection broke is the one who will send the same key again."""
    kit.backends.stock.gate = asyncio.Event()
    first = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    await eventually(lambda: kit.calls_of("availability") == 1)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    kit.backends.stock.gate.set()
    await free_key(kit)
    assert (await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")).failure is None


async def free_key(kit: Kit) -> None:
    deadline = Deadline.after(5)
    while await ask(kit.redis.inner, "KEYS", "manga:mcp:once:*"):
        assert not deadline.expired(), "the key is held still"
        await asyncio.sleep(0.002)


async def test_a_call_that_broke_leaves_its_key_free(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    kit.backends.stock.mood = Mood.BREAKS
    assert (await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")).failure == "INTERNAL_ERROR"
    kit.backends.stock.mood = Mood.WORKS
    await free_key(kit)
    assert (await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")).failure is None
    assert "failed unexpectedly" in caplog.text


async def test_only_live_and_whole_successes_are_recorded(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.FAILS
    first = await kit.ask("search_manga_catalog", QUERY, user="u", idempotency_key="k")
    assert first.meta["source"] == "fallback"
    kit.backends.catalog.mood, kit.backends.stock.mood = Mood.WORKS, Mood.FAILS
    kit.clock.advance(6)
    second = await kit.ask("search_manga_catalog", QUERY, user="u", idempotency_key="k")
    assert (second.meta["source"], second.meta["degraded"]) == ("live", ["stock"])
    kit.backends.stock.mood = Mood.WORKS
    third = await kit.ask("search_manga_catalog", QUERY, user="u", idempotency_key="k")
    assert third.meta["degraded"] == []
    assert third.value["results"][0]["price_jpy"] is not None


async def test_who_joins_a_partial_answer_is_told_that_it_is_one(kit: Kit) -> None:
    kit.backends.catalog.gate = asyncio.Event()
    kit.backends.stock.mood = Mood.FAILS
    tasks = [
        asyncio.create_task(kit.ask("search_manga_catalog", QUERY, user="u", session=f"s{n}", idempotency_key="k"))
        for n in range(2)
    ]
    await eventually(lambda: len(kit.redis.trips) == 2)
    await eventually(lambda: kit.calls_of("search") == 1)
    kit.backends.catalog.gate.set()
    assert [answer.meta["degraded"] for answer in await asyncio.gather(*tasks)] == [["stock"], ["stock"]]


async def test_a_redis_that_forgot_a_running_key_does_not_make_it_run_twice(kit: Kit) -> None:
    kit.backends.stock.gate = asyncio.Event()
    first = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k"))
    await eventually(lambda: kit.calls_of("availability") == 1)
    await ask(kit.redis.inner, "FLUSHALL")
    second = asyncio.create_task(kit.ask("check_inventory", IDS, user="u", session="s", idempotency_key="k"))
    await eventually(lambda: len(kit.redis.trips) == 2)
    kit.backends.stock.gate.set()
    assert [(await first).failure, (await second).failure] == [None, None]
    assert kit.calls_of("availability") == 1


async def test_without_redis_a_key_that_runs_here_is_joined_still(kit: Kit) -> None:
    class Away:
        async def trip(self, *_: Any) -> Any:
            raise MemoryUnavailable("away")

        async def aclose(self) -> None: ...

    kit.redis.inner = Away()  # type: ignore[assignment]
    kit.backends.stock.gate = asyncio.Event()
    tasks = [
        asyncio.create_task(kit.ask("check_inventory", IDS, user="u", session=f"s{n}", idempotency_key="k"))
        for n in range(3)
    ]
    await eventually(lambda: len(kit.redis.trips) == 3)
    kit.backends.stock.gate.set()
    answers = await asyncio.gather(*tasks)
    assert [answer.failure for answer in answers] == [None] * 3
    assert kit.calls_of("availability") == 1
    assert [answer.meta["degraded"] for answer in answers] == [["session"]] * 3


@pytest.mark.parametrize(
    "unreadable", [b"nonsense", b"", b"1 []", b"1 {}", b'1 {"items": 5, "not_found": [], "unanswered": []}']
)
async def test_a_record_that_cannot_be_read_is_claimed_anew_and_overwritten(kit: Kit, unreadable: bytes) -> None:
    await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    (name,) = await ask(kit.redis.inner, "KEYS", "manga:mcp:once:*")
    await ask(kit.redis.inner, "HSET", name, "result", unreadable)
    kit.clock.advance(6)
    again = await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    assert again.failure is None
    assert len(kit.redis.trips) == 4
    recorded = decode(await ask(kit.redis.inner, "HGET", name, "result"))
    assert recorded is not None
    assert recorded.value == again.value
    assert 0 < await ask(kit.redis.inner, "PTTL", name) <= 600_000
    asked = kit.calls_of("availability")
    kit.clock.advance(12)
    assert (await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")).value == again.value
    assert kit.calls_of("availability") == asked, "replayed"


async def test_an_unreadable_record_of_a_call_that_then_fails_leaves_the_key_free(kit: Kit) -> None:
    await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    (name,) = await ask(kit.redis.inner, "KEYS", "manga:mcp:once:*")
    await ask(kit.redis.inner, "HSET", name, "result", "nonsense")
    kit.backends.stock.mood = Mood.FAILS
    kit.clock.advance(1000)
    assert (await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")).failure == "DEPENDENCY_FAILURE"
    assert not await ask(kit.redis.inner, "EXISTS", name)


async def test_something_that_is_no_record_at_all_is_claimed_anew(kit: Kit) -> None:
    await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    (name,) = await ask(kit.redis.inner, "KEYS", "manga:mcp:once:*")
    await ask(kit.redis.inner, "SET", name, "a string")
    kit.clock.advance(6)
    answer = await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    assert (answer.failure, answer.meta["degraded"]) == (None, [])
    assert await ask(kit.redis.inner, "HEXISTS", name, "result")


async def test_two_at_once_that_find_an_unreadable_record_run_once_here(kit: Kit) -> None:
    await kit.ask("check_inventory", IDS, user="u", idempotency_key="k")
    (name,) = await ask(kit.redis.inner, "KEYS", "manga:mcp:once:*")
    await ask(kit.redis.inner, "HSET", name, "result", "nonsense")
    kit.clock.advance(6)
    kit.backends.stock.gate = asyncio.Event()
    asked = kit.calls_of("availability")
    tasks = [asyncio.create_task(kit.ask("check_inventory", IDS, user="u", idempotency_key="k")) for _ in range(3)]
    await eventually(lambda: len(kit.redis.trips) == 5)
    await eventually(lambda: kit.calls_of("availability") > asked)
    kit.backends.stock.gate.set()
    answers = await asyncio.gather(*tasks)
    assert [answer.failure for answer in answers] == [None] * 3
    assert kit.calls_of("availability") == asked + 1


async def test_a_malformed_key_is_refused_before_anything_is_asked(kit: Kit) -> None:
    answer = await kit.ask("check_inventory", IDS, user="u", idempotency_key="a key")
    assert (answer.failure, kit.redis.trips) == ("VALIDATION_ERROR", [])


# -- shed, limits, access


async def test_more_calls_than_can_be_answered_are_refused_at_once_and_counted_right(
    opener: Opener, moody: Backends
) -> None:
    kit = await opener(max_concurrent_calls=2)
    moody.catalog.gate = asyncio.Event()
    tasks = [asyncio.create_task(kit.ask("search_manga_catalog", {"query": f"q{n}"})) for n in range(2)]
    await eventually(lambda: kit.pipeline.shed.under_way == 2)
    assert not kit.pipeline.shed.idle.is_set()
    busy = await kit.ask("search_manga_catalog", QUERY)
    assert (busy.failure, busy.outcome.failure.retry_after_ms) == ("SERVER_BUSY", 100)  # type: ignore[union-attr]
    tasks[0].cancel()
    await asyncio.gather(tasks[0], return_exceptions=True)
    assert kit.pipeline.shed.under_way == 1
    moody.catalog.gate.set()
    await tasks[1]
    assert kit.pipeline.shed.under_way == 0
    assert kit.pipeline.shed.idle.is_set()
    assert (await kit.ask("search_manga_catalog", QUERY)).failure is None


async def test_one_principal_that_has_every_place_keeps_no_other_out(opener: Opener, moody: Backends) -> None:
    """It may have them all while it is alone. Another has its share at once, and the first no more than its own then."""
    kit = await opener(max_concurrent_calls=4)
    moody.catalog.gate = asyncio.Event()

    def began(origin: str, number: int) -> list[asyncio.Task[Answer]]:
        words = [{"query": f"{origin} {n}"} for n in range(number)]
        return [asyncio.create_task(kit.ask("search_manga_catalog", each, origin=origin)) for each in words]

    greedy = began("greedy", 4)
    await eventually(lambda: kit.pipeline.shed.under_way == 4)
    modest = began("modest", 2)
    await eventually(lambda: kit.pipeline.shed.under_way == 6)
    assert (await kit.ask("search_manga_catalog", QUERY, origin="modest")).failure == "SERVER_BUSY"
    assert (await kit.ask("search_manga_catalog", QUERY, origin="greedy")).failure == "SERVER_BUSY"
    greedy[0].cancel()
    greedy[1].cancel()
    await eventually(lambda: kit.pipeline.shed.under_way == 4)
    assert (await kit.ask("search_manga_catalog", QUERY, origin="greedy")).failure == "SERVER_BUSY"
    moody.catalog.gate.set()
    answers = await asyncio.gather(*greedy[2:], *modest)
    assert [answer.failure for answer in answers] == [None] * 4
    greedy = began("greedy", 4)
    assert [answer.failure for answer in await asyncio.gather(*greedy)] == [None] * 4


async def test_a_caller_over_the_limit_is_told_when_to_come_back(opener: Opener) -> None:
    kit = await opener(rate=Rate(10, 2))
    answers = [await kit.ask("search_manga_catalog", QUERY, user="u", turn="t") for _ in range(3)]
    assert [answer.failure for answer in answers] == [None, None, "RATE_LIMITED"]
    error = answers[-1].result["structuredContent"]["error"]["data"]
    assert error["retryable"]
    assert 0 < error["retry_after_ms"] <= 100
    assert answers[-1].meta["budget"]["totalMs"] == 3000


async def test_an_address_is_limited_only_for_callers_of_whom_nothing_else_is_known(opener: Opener) -> None:
    kit = await opener(rate=Rate(1, 2), host="0.0.0.0")
    unknown = [(await kit.ask("search_manga_catalog", QUERY, address="10.1.1.1")).failure for _ in range(3)]
    assert unknown == [None, None, "RATE_LIMITED"]
    assert (await kit.ask("search_manga_catalog", QUERY, address="10.1.1.2")).failure is None
    assert (await kit.ask("search_manga_catalog", QUERY)).failure is None
    assert (await kit.ask("search_manga_catalog", QUERY, address="10.1.1.1", user="u")).failure is None
    assert (await kit.ask("search_manga_catalog", QUERY, address="10.1.1.1", session="s")).failure is None


async def test_a_tool_that_is_switched_off_says_what_to_use_instead(kit: Kit) -> None:
    kit.flags.percents["check_inventory"] = 0
    answer = await kit.ask("check_inventory", IDS)
    assert answer.failure == "TOOL_NOT_FOUND"
    assert "get_manga_details" in answer.texts[0]


async def test_without_the_agents_token_nothing_is_asked(opener: Opener) -> None:
    kit = await opener(identifier=TrustTokens(["secret"]))
    assert (await kit.ask("search_manga_catalog", QUERY, bearer="wrong")).failure == "FORBIDDEN"
    assert (await kit.ask("search_manga_catalog", QUERY)).failure == "FORBIDDEN"
    assert kit.redis.trips == []
    assert (await kit.ask("lookup_order", ARGUMENTS["lookup_order"], bearer="secret", user="u")).failure is None


async def test_the_transports_session_stands_in_where_none_is_stated(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", QUERY, transport_session="stream-1", user="u")
    assert (await kit.ask("check_inventory", {}, session="stream-1", user="u")).failure is None


# -- time


def exhausted(kit: Kit, turn: str = "t") -> dict[str, Any]:
    return {"session": "s", "user": "u", "turn": turn, "arrived": kit.clock() - 2.95}


async def test_in_a_turn_that_is_used_up_nothing_is_started(kit: Kit) -> None:
    who = exhausted(kit)
    for tool in ("lookup_order", "check_inventory"):
        answer = await kit.ask(tool, ARGUMENTS[tool], **who)
        assert answer.failure == "BUDGET_EXHAUSTED"
        error = answer.result["structuredContent"]["error"]["data"]
        assert (error["retryable"], error["fallback_available"]) == (False, False)
        assert "used up" in answer.result["structuredContent"]["error"]["message"]
        assert not answer.note, "once is enough"
    assert kit.backends.orders.asked == kit.backends.stock.asked == []


async def test_in_a_turn_that_is_used_up_the_ladder_answers(kit: Kit) -> None:
    who = exhausted(kit)
    for tool in ("search_manga_catalog", "get_manga_details"):
        answer = await kit.ask(tool, ARGUMENTS[tool], **who)
        assert (answer.failure, answer.meta["source"]) == (None, "fallback")
        assert answer.meta["degraded"] == ["stock"]
    assert kit.calls_of("availability") == 0, "price and stock were asked when nothing may be started"
    assert kit.calls_of("search") + kit.calls_of("get") == 0


async def test_in_a_turn_that_is_used_up_a_callers_mistake_is_still_told_as_one(kit: Kit) -> None:
    answer = await kit.ask("check_inventory", {"result_set": "rs_" + "a" * 16}, **exhausted(kit))
    assert answer.failure == "NOT_FOUND"


async def test_in_a_turn_that_is_used_up_what_is_cached_is_given_and_not_refreshed(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", QUERY)
    asked = kit.calls_of("search")
    assert (await kit.ask("search_manga_catalog", QUERY, **exhausted(kit))).meta["source"] == "cache"
    await age(kit, 301)
    assert (await kit.ask("search_manga_catalog", QUERY, **exhausted(kit, "t2"))).meta["source"] == "stale"
    assert kit.calls_of("search") == asked
    assert not kit.pipeline.cache.refreshes


async def test_a_tool_that_hangs_is_stopped_at_its_deadline_and_its_backend_work_with_it(kit: Kit) -> None:
    kit.backends.orders.mood = Mood.HANGS
    answer = await kit.ask("lookup_order", ARGUMENTS["lookup_order"], user="u")
    assert answer.failure == "TIMEOUT"
    await eventually(lambda: kit.backends.orders.cancelled == kit.calls_of("order") > 0)


async def test_a_call_is_given_its_share_of_the_turn_and_no_more_than_its_tools_time(opener: Opener) -> None:
    kit = await opener()
    for tool in ("search_manga_catalog", "lookup_order"):
        for expected in (1, 4, 20):
            call = kit.call(tool, ARGUMENTS[tool], session="s", user="u", turn=f"{tool}{expected}", expected_calls=expected)
            await kit.pipeline.run(call)
            share = max(100, 2800 // expected)
            given = call.deadline.at - call.arrived  # type: ignore[union-attr]
            assert given == pytest.approx(min(call.tool.tool.timeout_ms, share) / 1000)


async def test_no_call_outlives_the_call_timeout(opener: Opener) -> None:
    kit = await opener(call_timeout_ms=100)
    call = kit.call("search_manga_catalog", QUERY)
    await kit.pipeline.run(call)
    assert call.deadline.at == pytest.approx(call.arrived + 0.1)  # type: ignore[union-attr]


async def test_callers_in_a_hurry_open_nobodys_breaker(kit: Kit) -> None:
    """A backend that needs 60 ms is healthy, also when twenty callers gave it 50."""
    kit.backends.catalog.gate = asyncio.Event()
    for n in range(20):
        answer = await kit.ask(
            "get_manga_details", {"title_id": f"manga-00000{n % 6 + 1}"}, turn=f"t{n}", turn_budget_ms=305, user="u"
        )
        assert answer.meta["source"] == "fallback"
    assert kit.open_breakers() == []


# -- admit


async def slow_calls(admit: Admit, kit: Kit, clock: HandClock, seconds: float, how_many: int) -> list[str]:
    """Calls with 800 ms each, of a tool that takes `seconds`."""
    told = []
    for _ in range(how_many):
        call = kit.call("search_manga_catalog", QUERY)
        call.deadline = Deadline.after(0.8, clock)

        async def inner(_: Call) -> Outcome:
            clock.advance(seconds)
            return Outcome({})

        try:
            await admit(call, inner)
            told.append("ran")
        except TimedOut:
            told.append("refused")
    return told


async def test_a_tool_slower_than_what_is_left_is_refused_but_for_one_probe_a_second(kit: Kit) -> None:
    clock = HandClock()
    assert await slow_calls(Admit(clock), kit, clock, 0.6, 40) == ["ran"] * 40, "p95 is below what is left"
    clock = HandClock()
    admit = Admit(clock)
    assert await slow_calls(admit, kit, clock, 0.9, 25) == ["ran"] * 21 + ["refused"] * 4, "twenty samples, then a probe"
    clock.advance(0.1)
    assert await slow_calls(admit, kit, clock, 0.9, 3) == ["ran", "refused", "refused"]


async def test_a_tool_that_has_recovered_is_found_out_by_one_probe(kit: Kit) -> None:
    clock = HandClock()
    admit = Admit(clock)
    await slow_calls(admit, kit, clock, 0.1, 3)
    await slow_calls(admit, kit, clock, 0.79, 40)
    clock.advance(1.0)
    await slow_calls(admit, kit, clock, 0.9, 20)
    clock.advance(1.0)
    assert await slow_calls(admit, kit, clock, 0.01, 30) == ["ran"] * 30


async def test_a_tool_that_fails_adds_its_time_too(kit: Kit) -> None:
    clock = HandClock()
    admit = Admit(clock)

    async def failing(_: Call) -> Outcome:
        clock.advance(0.8)
        raise TimedOut("late")

    call = kit.call("search_manga_catalog", QUERY)
    for _ in range(21):
        call.deadline = Deadline.after(0.8, clock)
        with pytest.raises(TimedOut, match="late"):
            await admit(call, failing)
    call.deadline = Deadline.after(0.5, clock)
    with pytest.raises(TimedOut, match="longer than"):
        admit._probed_at[call.name] = clock()
        await admit(call, failing)


async def test_callers_that_leave_measure_nothing(kit: Kit) -> None:
    """Fifty that leave at once do not make a slow tool look quick, nor a quick one slow."""
    clock = HandClock()
    admit = Admit(clock)

    async def left(_: Call) -> Outcome:
        clock.advance(0.01)
        raise asyncio.CancelledError

    await slow_calls(admit, kit, clock, 0.7, 25)
    for _ in range(50):
        call = kit.call("search_manga_catalog", QUERY)
        call.deadline = Deadline.after(0.8, clock)
        with pytest.raises(asyncio.CancelledError):
            await admit(call, left)
    assert admit._sketches["search_manga_catalog"].count() == 25


# -- what is not known in time


@pytest.mark.parametrize("mood", BAD)
@pytest.mark.parametrize("tool", ["search_manga_catalog", "get_manga_details", "get_recommendations"])
async def test_price_and_stock_that_are_late_are_null_and_labelled(kit: Kit, tool: str, mood: Mood) -> None:
    kit.backends.stock.mood = mood
    answer = await kit.ask(tool, ARGUMENTS[tool])
    assert (answer.failure, answer.meta["source"], answer.meta["degraded"]) == (None, "live", ["stock"])
    cards = answer.value.get("results") or answer.value.get("recommendations") or [answer.value]
    assert {(card["price_jpy"], card["in_stock"]) for card in cards} == {(None, None)}
    assert "some prices and stock" in answer.note
    kit.backends.stock.mood = Mood.WORKS
    for guard in kit.guards.values():
        guard.breaker._enter(type(guard.breaker.state).CLOSED)
    again = await kit.ask(tool, ARGUMENTS[tool])
    assert (again.meta["source"], again.meta["degraded"]) == ("cache", [])
    cards = again.value.get("results") or again.value.get("recommendations") or [again.value]
    assert None not in {card["price_jpy"] for card in cards}, "stock is joined onto what was cached"


async def test_related_titles_that_are_late_are_left_out_and_labelled(kit: Kit) -> None:
    asked = kit.backends.catalog
    inner = asked.inner

    class OnlyOnce:
        def __getattr__(self, method: str) -> Any:
            async def get(ids: Any, deadline: Any) -> Any:
                if len(asked.asked) > 2:
                    raise DependencyFailure("down")
                return await getattr(inner, method)(ids, deadline)

            return get

    asked.inner = OnlyOnce()
    kit.backends.titles.mood = Mood.FAILS
    answer = await kit.ask("get_manga_details", TITLE)
    assert (answer.value["related"], answer.meta["degraded"]) == ([], ["related"])


async def test_similar_titles_that_are_late_are_left_out_and_labelled(kit: Kit) -> None:
    inner = kit.backends.catalog.inner

    class NoneAlike:
        def __getattr__(self, method: str) -> Any:
            if method == "alike":
                raise_it: Any = _fail
                return raise_it
            return getattr(inner, method)

    kit.backends.catalog.inner = NoneAlike()
    answer = await kit.ask("get_recommendations", {"criteria": "pirates"}, user="u")
    assert answer.meta["degraded"] == ["taste"]
    assert answer.value["recommendations"]


async def _fail(*_: Any) -> Any:
    raise DependencyFailure("down")


async def test_an_inventory_that_is_partly_late_names_what_is_missing(kit: Kit) -> None:
    inner = kit.backends.stock.inner

    class Half:
        async def availability(self, ids: list[str], deadline: Any) -> Any:
            page = await inner.availability(ids[:1], deadline)
            return replace(page, unanswered=tuple(ids[1:]))

    kit.backends.stock.inner = Half()
    answer = await kit.ask("check_inventory", {"title_ids": ["manga-000001", "manga-000002", "manga-000003"]})
    assert [item["title_id"] for item in answer.value["items"]] == ["manga-000001"]
    assert answer.value["unanswered"] == ["manga-000002", "manga-000003"]
    assert answer.meta["degraded"] == ["stock"]


async def test_a_snapshot_promises_nothing(kit: Kit) -> None:
    await kit.ask("check_inventory", {"title_ids": ["manga-000001", "manga-000002"]})
    kit.clock.advance(14 * 60)
    kit.backends.stock.mood = Mood.FAILS
    answer = await kit.ask("check_inventory", {"title_ids": ["manga-000001", "manga-000002", "manga-000003"]})
    assert {(item["availability"], item["in_stock"]) for item in answer.value["items"]} == {("last_known", None)}
    assert all(item["as_of"] for item in answer.value["items"])
    assert answer.value["unanswered"] == ["manga-000003"]
    kit.clock.advance(16 * 60)
    assert (await kit.ask("check_inventory", {"title_ids": ["manga-000001"]})).failure == "DEPENDENCY_FAILURE"


async def test_a_second_check_within_five_seconds_comes_from_memory(kit: Kit) -> None:
    await kit.ask("check_inventory", IDS)
    assert (await kit.ask("check_inventory", IDS)).meta["source"] == "cache"
    assert kit.calls_of("availability") == 1


async def test_popular_titles_satisfy_the_filters(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.FAILS
    answer = await kit.ask(
        "search_manga_catalog", {"query": "anything", "genre": "shonen", "min_rating": 4.6, "author": "Oda"}
    )
    assert [card["title"] for card in answer.value["results"]] == ["Pirate Sea"]
    assert "not matches" in answer.value["note"]


async def test_without_a_catalogue_a_kept_title_is_still_found_by_its_name(kit: Kit) -> None:
    """In any script and with a typo; what is popular follows it, and the note tells the two apart."""
    kit.backends.catalog.mood = Mood.FAILS
    for query in ("Robot Cat", "robto cat", "猫型ロボ"):
        answer = await kit.ask("search_manga_catalog", {"query": query, "max_results": 3})
        assert answer.meta["fallback"] == "cached_popular_manga"
        assert [card["title"] for card in answer.value["results"]] == ["Robot Cat", "Pirate Sea", "Chess Ghost"]
        assert answer.value["note"].startswith("The search is not available right now; the first one matches by name;")
    alone = await kit.ask("search_manga_catalog", {"query": "Robot Cat", "genre": "kodomo"})
    assert alone.value["note"].endswith("the first one matches by name.")
    elsewhere = await kit.ask("search_manga_catalog", {"query": "Robot Cat", "genre": "shojo"})
    assert [card["title"] for card in elsewhere.value["results"]] == ["Rose Garden"]
    assert "these are popular titles" in elsewhere.value["note"]


# -- the guard and what is told


async def test_what_nobody_foresaw_is_logged_and_told_to_nobody(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    kit.backends.catalog.mood = Mood.BREAKS
    with caplog.at_level(logging.ERROR):
        answer = await kit.ask("search_manga_catalog", QUERY, session="s", user="u")
    assert answer.failure == "INTERNAL_ERROR"
    assert "hunter2" not in json.dumps(answer.result)
    assert "hunter2" in caplog.text
    assert kit.open_breakers() == []
    assert kit.events[-1].outcome == "INTERNAL_ERROR"


async def test_every_call_is_told_of_once_also_one_that_is_cancelled(kit: Kit) -> None:
    await caller_errors(kit)
    told = len(kit.events)
    assert told == 9
    kit.backends.catalog.gate = asyncio.Event()
    task = asyncio.create_task(kit.ask("search_manga_catalog", QUERY, user="u", traceparent="x"))
    await eventually(lambda: kit.calls_of("search") == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (event,) = kit.events[told:]
    assert (event.outcome, event.source, event.traceparent) == ("cancelled", None, "x")
    assert "u" != event.user != "anonymous"


async def test_a_sink_that_fails_costs_no_answer_and_no_other_sink_its_event(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(event: CallFinished) -> None:
        raise RuntimeError("the collector is full")

    async def answered(call: Call) -> Outcome:
        return Outcome({"ok": True})

    events: list[CallFinished] = []
    stage = Telemetry([broken, events.append])
    assert (await stage(kit.call("search_manga_catalog", QUERY), answered)).value == {"ok": True}
    assert len(events) == 1
    assert "sink failed" in caplog.text


async def test_a_failure_that_comes_as_an_outcome_is_recorded_as_one(kit: Kit) -> None:
    async def failed(call: Call) -> Outcome:
        return Outcome(failure=DependencyFailure("down"))

    stage = OpenSession(kit.memory, 5000, cache=True, wall=time.time)
    call = kit.call("search_manga_catalog", QUERY)
    call.session = "s"
    assert (await stage(call, failed)).text is None
    (recorded,) = (await kit.memory.recall("s", None)).calls
    assert (recorded["summary"], recorded["succeeded"]) == ("DEPENDENCY_FAILURE", False)


async def test_a_second_trip_that_is_lost_is_said(kit: Kit) -> None:
    inner = kit.redis.inner

    class OnlyBegins:
        async def trip(self, steps: Any, deadline: Any) -> Any:
            if len(kit.redis.trips) > 1:
                raise MemoryUnavailable("away")
            return await inner.trip(steps, deadline)

        async def aclose(self) -> None: ...

    kit.redis.inner = OnlyBegins()  # type: ignore[assignment]
    answer = await kit.ask("search_manga_catalog", QUERY, session="s", user="u")
    assert (answer.failure, answer.meta["degraded"]) == (None, ["session"])


async def test_a_failed_call_is_in_the_history_as_one(kit: Kit) -> None:
    await kit.ask("get_manga_details", {"title_id": "manga-999999"}, session="s", user="u")
    recollection = await kit.memory.recall("s", "u")
    assert recollection.calls[0]["succeeded"] is False
    assert recollection.calls[0]["summary"] == "NOT_FOUND"
    assert recollection.totals["failures"] == 1


async def test_a_result_too_large_to_keep_is_answered_and_not_kept(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session.result_cache.LARGEST_BYTES", 10)
    assert (await kit.ask("search_manga_catalog", QUERY, user="u", idempotency_key="k")).failure is None
    assert await ask(kit.redis.inner, "KEYS", "manga:mcp:cache:*") == []
    assert encode({"a": "b" * 10}, 1.0) is None


async def test_five_failures_open_one_breaker_and_leave_the_other_backends_alone(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.FAILS
    for n in range(6):
        await kit.ask("search_manga_catalog", {"query": f"q{n}"})
    assert kit.open_breakers() == ["catalog"]
    asked = kit.calls_of("search")
    assert (await kit.ask("search_manga_catalog", {"query": "z"})).meta["source"] == "fallback"
    assert kit.calls_of("search") == asked, "it is left alone"
    assert (await kit.ask("check_inventory", IDS)).failure is None


async def test_a_catalogue_that_hangs_does_not_take_the_stock_down_with_it(kit: Kit) -> None:
    """The join after a call that used up its time is too short to say anything of the stock."""
    kit.backends.catalog.mood, kit.backends.stock.gate = Mood.HANGS, asyncio.Event()
    for n in range(8):
        answer = await kit.ask("search_manga_catalog", {"query": f"q{n}"})
        assert answer.meta["source"] == "fallback"
        assert answer.meta["degraded"] == ["stock"]
    assert kit.open_breakers() == ["catalog"]


async def test_a_backend_that_hangs_for_calls_with_time_enough_opens_its_breaker(opener: Opener, moody: Backends) -> None:
    kit = await opener()
    moody.catalog.mood = Mood.HANGS
    await asyncio.gather(*(kit.ask("search_manga_catalog", {"query": f"q{n}"}) for n in range(6)))
    assert kit.open_breakers() == ["catalog"]
