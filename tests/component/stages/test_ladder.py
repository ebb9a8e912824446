"""The fallback ladder: the answer to a call while its backend fails, throttles, hangs or breaks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.calls import ARGUMENTS, CACHED, CODES, FALLBACKS, IDS, MAIN_PORTS, QUERY, TITLE
from tests.support.pipeline import Kit, Opener
from tests.support.store import BAD, Backends, Mood
from tools.registry import TOOLS

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize("mood", BAD)
@pytest.mark.parametrize("tool", FALLBACKS)
async def test_failing_backend_leads_to_a_labelled_fallback(kit: Kit, tool: str, mood: Mood) -> None:
    await kit.ask("check_inventory", IDS)  # the snapshot that the fallback of check_inventory is
    kit.clock.advance(6)
    for port in MAIN_PORTS[tool]:
        getattr(kit.backends, port).mood = mood
    answer = await kit.ask(tool, ARGUMENTS[tool], session="s", user="u")
    assert (answer.failure, answer.meta["source"], answer.meta["fallback"]) == (None, "fallback", FALLBACKS[tool])
    assert "fallback" in answer.note
    assert kit.events[-1].fallback == FALLBACKS[tool]


@pytest.mark.parametrize("mood", BAD)
async def test_details_of_an_unpopular_title_come_from_the_store_while_the_catalogue_fails(
    opener: Opener, moody: Backends, mood: Mood
) -> None:
    """A search found the title before and no cache has it: the store's record answers, with a label."""
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

    async def for_reader(self, *asked: Any) -> Any:
        return tuple(map(self.half, await self.inner.for_reader(*asked)))

    async def nearest(self, *asked: Any) -> Any:
        return [replace(each, title=self.half(each.title)) for each in await self.inner.nearest(*asked)]

    async def terms(self, *asked: Any) -> Any:
        return await self.inner.terms(*asked)

    async def match_names(self, *asked: Any) -> Any:
        return await self.inner.match_names(*asked)

    def half(self, title: Any) -> Any:
        return replace(title, en=f"{title.en} \ud800", synopsis_en="half \udfff of it", tags=("Drama\ud800",))


@pytest.mark.parametrize("tool", CACHED)
async def test_lone_surrogate_from_a_backend_is_removed_from_the_answer(kit: Kit, tool: str) -> None:
    """Loading refuses one; a backend that sends one is answered without it, live and from the cache."""
    kit.backends.catalog.inner = Halved(kit.backends.catalog.inner)
    for source in ("live", "cache"):
        answer = await kit.ask(tool, ARGUMENTS[tool], user="u", session="s")
        assert (answer.failure, answer.meta["source"]) == (None, source)
        assert json.dumps(answer.value, ensure_ascii=False).encode()


async def test_details_do_not_ask_the_store_records_while_the_catalogue_works(kit: Kit) -> None:
    """Both requests, for the title and for its related titles, go to the catalogue."""
    await kit.ask("get_manga_details", TITLE)
    assert kit.backends.titles.asked == []
    assert kit.calls_of("get") == 2


async def test_title_missing_from_the_records_during_an_outage_is_not_called_not_found(kit: Kit) -> None:
    """The records may be older than the catalogue, so the answer is that it is unknown now."""
    kit.backends.catalog.mood = Mood.FAILS
    assert (await kit.ask("get_manga_details", {"title_id": "manga-999999"})).failure == "DEPENDENCY_FAILURE"


@pytest.mark.parametrize("mood", BAD)
@pytest.mark.parametrize("tool", ARGUMENTS)
async def test_failure_without_a_fallback_is_returned_as_itself(
    opener: Opener, moody: Backends, tool: str, mood: Mood
) -> None:
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


# Words can always be read: what falls back to them needs to know nothing.
@pytest.mark.parametrize("tool", sorted(FALLBACKS.keys() - {"classify_genre"}))
async def test_empty_fallback_leaves_the_first_failure(opener: Opener, moody: Backends, tool: str) -> None:
    kit = await opener(warm=False)
    for port in MAIN_PORTS[tool]:
        getattr(moody, port).mood = Mood.HANGS
    assert (await kit.ask(tool, ARGUMENTS[tool])).failure == "TIMEOUT"


async def test_lookup_order_has_no_fallback(kit: Kit) -> None:
    kit.backends.orders.mood = Mood.FAILS
    assert (await kit.ask("lookup_order", ARGUMENTS["lookup_order"], user="u")).failure == "DEPENDENCY_FAILURE"


@pytest.mark.parametrize("tool", FALLBACKS)
async def test_fallback_works_with_a_disabled_cache(opener: Opener, moody: Backends, tool: str) -> None:
    kit = await opener(cache=False)
    await kit.ask("check_inventory", IDS)
    for port in MAIN_PORTS[tool]:
        getattr(moody, port).mood = Mood.FAILS
    answer = await kit.ask(tool, ARGUMENTS[tool])
    assert (answer.failure, answer.meta["source"], answer.meta["fallback"]) == (None, "fallback", FALLBACKS[tool])


async def test_stock_from_a_snapshot_is_never_reported_as_in_stock(kit: Kit) -> None:
    await kit.ask("check_inventory", {"title_ids": ["manga-000001", "manga-000002"]})
    kit.clock.advance(14 * 60)
    kit.backends.stock.mood = Mood.FAILS
    answer = await kit.ask("check_inventory", {"title_ids": ["manga-000001", "manga-000002", "manga-000003"]})
    assert {(item["availability"], item["in_stock"]) for item in answer.value["items"]} == {("last_known", None)}
    assert all(item["as_of"] for item in answer.value["items"])
    assert answer.value["unanswered"] == ["manga-000003"]
    kit.clock.advance(16 * 60)
    assert (await kit.ask("check_inventory", {"title_ids": ["manga-000001"]})).failure == "DEPENDENCY_FAILURE"


async def test_popular_titles_of_the_fallback_satisfy_the_filters(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.FAILS
    answer = await kit.ask(
        "search_manga_catalog", {"query": "anything", "genre": "shonen", "min_rating": 4.6, "author": "Oda"}
    )
    assert [card["title"] for card in answer.value["results"]] == ["Pirate Sea"]
    assert "not matches" in answer.value["note"]


async def test_title_is_found_by_name_among_the_popular_ones_without_the_catalogue(kit: Kit) -> None:
    """The name may be in any script and misspelled; popular titles follow, and the note tells the two apart."""
    kit.backends.catalog.mood = Mood.FAILS
    for query in ("Robot Cat", "robto cat", "猫型ロボ"):
        answer = await kit.ask("search_manga_catalog", {"query": query, "max_results": 3})
        assert (answer.meta["fallback"], answer.meta["degraded"]) == ("cached_popular_manga", [])
        assert [card["title"] for card in answer.value["results"]] == ["Robot Cat", "Pirate Sea", "Chess Ghost"]
        assert answer.value["note"].startswith("The search is not available right now; the first one matches by name;")
    alone = await kit.ask("search_manga_catalog", {"query": "Robot Cat", "genre": "kodomo"})
    assert alone.value["note"].endswith("the first one matches by name.")
    elsewhere = await kit.ask("search_manga_catalog", {"query": "Robot Cat", "genre": "shojo"})
    assert [card["title"] for card in elsewhere.value["results"]] == ["Rose Garden"]
    assert "these are popular titles" in elsewhere.value["note"]
    assert elsewhere.meta["degraded"] == ["matches"], "which is no use to whoever asked for that one"
    assert "matches" not in (await kit.ask("search_manga_catalog", {"query": "shojo manga"})).meta["degraded"]
