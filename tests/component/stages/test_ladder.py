"""The ladder: what a call is answered with while its backend fails, throttles, hangs or breaks."""

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
    assert (await kit.ask("get_manga_details", {"title_id": "manga-999999"})).failure == "DEPENDENCY_FAILURE"


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


# Words can always be read: what falls back to them needs to know nothing.
@pytest.mark.parametrize("tool", sorted(FALLBACKS.keys() - {"classify_genre"}))
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


@pytest.mark.parametrize("tool", FALLBACKS)
async def test_without_a_cache_the_last_rung_is_still_there(opener: Opener, moody: Backends, tool: str) -> None:
    kit = await opener(cache=False)
    await kit.ask("check_inventory", IDS)
    for port in MAIN_PORTS[tool]:
        getattr(moody, port).mood = Mood.FAILS
    answer = await kit.ask(tool, ARGUMENTS[tool])
    assert (answer.failure, answer.meta["source"], answer.meta["fallback"]) == (None, "fallback", FALLBACKS[tool])


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
