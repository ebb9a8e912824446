"""Successful calls with embedded backends, a real Valkey and the real stages in order."""

from __future__ import annotations

import json

import pytest

from tests.support.breakers import mend
from tests.support.calls import ARGUMENTS, IDS, QUERY
from tests.support.pipeline import Kit, Opener
from tests.support.store import BAD, Backends, Mood

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize("tool", ARGUMENTS)
async def test_every_tool_answers_live_with_two_round_trips_and_one_event(kit: Kit, tool: str) -> None:
    answer = await kit.ask(tool, ARGUMENTS[tool], session="s", user="u", turn="t")
    assert (answer.failure, answer.meta["source"], answer.meta["degraded"]) == (None, "live", [])
    assert len(kit.redis.trips) == 2
    assert [(event.tool, event.outcome, event.source) for event in kit.events] == [(tool, "ok", "live")]
    assert answer.meta["budget"]["turnId"] == "t"
    assert 0 < answer.meta["budget"]["remainingMs"] <= 2800
    assert json.loads(answer.texts[0]) == answer.value


@pytest.mark.parametrize("tool", ARGUMENTS)
async def test_history_keeps_only_the_arguments_that_the_tool_allows(kit: Kit, tool: str) -> None:
    await kit.ask(tool, ARGUMENTS[tool], session="s", user="u")
    (call,) = (await kit.memory.recall("s", "u")).calls
    allowed = set(kit.registry.get(tool).tool.remembered)  # type: ignore[union-attr]
    assert (call.tool, call.succeeded, call.cache_hit) == (tool, True, False)
    assert set(call.arguments) <= allowed
    assert call.summary
    assert call.tokens > 0


async def test_check_inventory_without_ids_checks_the_last_search(kit: Kit) -> None:
    found = await kit.ask("search_manga_catalog", QUERY, session="s", user="u")
    checked = await kit.ask("check_inventory", {}, session="s", user="u")
    assert [item["title_id"] for item in checked.value["items"]] == [card["title_id"] for card in found.value["results"]]
    assert checked.value["checked"] == "last_search"
    by_set = await kit.ask("check_inventory", {"result_set": found.value["result_set"].upper().replace("RS_", "rs_")})
    assert by_set.value["items"] == checked.value["items"], "a client without a session can chain too"


async def test_check_inventory_without_a_search_or_with_an_unknown_set_is_a_caller_error(kit: Kit) -> None:
    assert (await kit.ask("check_inventory", {}, session="s", user="u")).failure == "VALIDATION_ERROR"
    assert (await kit.ask("check_inventory", {"result_set": "rs_" + "a" * 16})).failure == "NOT_FOUND"
    assert kit.calls_of("availability") == 0


async def test_check_inventory_checks_the_titles_shown_last_and_names_them(kit: Kit) -> None:
    """A search or recommendations may have shown them, live or from the cache."""
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


async def test_check_inventory_after_an_empty_search_says_there_is_nothing_to_check(kit: Kit) -> None:
    nothing = await kit.ask("search_manga_catalog", {"query": "xyzzy", "author": "Nobody At All"}, session="s", user="u")
    assert nothing.value["results"] == []
    for asked in ({}, {"result_set": nothing.value["result_set"]}):
        checked = await kit.ask("check_inventory", asked, session="s", user="u")
        assert (checked.failure, checked.value["items"]) == (None, [])
        assert "so there is nothing to check" in checked.note
    assert "(xyzzy)" in (await kit.ask("check_inventory", {}, session="s", user="u")).note
    assert kit.calls_of("availability") == 0


async def test_stock_rows_have_titles_without_asking_the_catalogue_for_known_ones(kit: Kit) -> None:
    """Titles already shown are never asked for; a failing catalogue costs the names only."""
    await kit.ask("search_manga_catalog", QUERY)
    for _ in range(2):
        checked = await kit.ask("check_inventory", IDS)
        assert [item["title"] for item in checked.value["items"]] == ["Pirate Sea", "Chess Ghost"]
    assert kit.calls_of("get") == 0, "the popular ones are known"


@pytest.mark.parametrize("mood", BAD)
async def test_stock_is_answered_without_names_while_they_are_unavailable(
    opener: Opener, moody: Backends, mood: Mood
) -> None:
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
        await mend(guard.breaker)
    asked = kit.calls_of("get")
    for _ in range(2):
        checked = await kit.ask("check_inventory", IDS)
        assert [item["title"] for item in checked.value["items"]] == ["Pirate Sea", "Chess Ghost"]
    assert kit.calls_of("get") == asked + 1


async def test_another_user_of_the_same_session_has_no_last_search(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", QUERY, session="s", user="u")
    for user in ("v", None):
        assert (await kit.ask("check_inventory", {}, session="s", user=user)).failure == "VALIDATION_ERROR"


async def test_cached_search_becomes_the_last_search_too(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", QUERY, session="s", user="u")
    again = await kit.ask("search_manga_catalog", QUERY, session="t", user="v")
    assert again.meta["source"] == "cache"
    assert (await kit.ask("check_inventory", {}, session="t", user="v")).failure is None
