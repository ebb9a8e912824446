"""A search points to the tool that answers better, where the caller has that tool."""

from __future__ import annotations

import pytest

from tests.support.cases import cases
from tests.support.pipeline import Kit
from tests.support.store import Mood
from tools.search_manga_catalog import ELSEWHERE, POINTERS, POLICIES

pytestmark = pytest.mark.virtual_time
ASKED = {"query": "what comes out this month?"}
(SAYS,) = [pointer.says for pointer in POINTERS if pointer.tool == "find_volumes"]


async def test_question_about_releases_is_pointed_to_find_volumes_live_and_from_the_cache(kit: Kit) -> None:
    for source in ("live", "cache"):
        answer = await kit.ask("search_manga_catalog", ASKED)
        assert (answer.meta["source"], SAYS in answer.note, ELSEWHERE in answer.value) == (source, True, False)


async def test_disabled_tool_is_not_pointed_to_even_from_the_cache(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", ASKED)
    kit.switch(find_volumes=False)
    answer = await kit.ask("search_manga_catalog", ASKED)
    assert (answer.meta["source"], SAYS in answer.note, ELSEWHERE in answer.value) == ("cache", False, False)


async def test_pointer_to_find_volumes_is_given_by_the_fallback_too(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.FAILS
    answer = await kit.ask("search_manga_catalog", {"query": "new pirate volumes this month"})
    assert (answer.meta["source"], SAYS in answer.note) == ("fallback", True)


async def test_unrelated_query_gets_no_pointer(kit: Kit) -> None:
    assert "find_volumes" not in (await kit.ask("search_manga_catalog", {"query": "pirates"})).note


async def test_question_about_shipping_is_pointed_to_the_policies(kit: Kit) -> None:
    for source in ("live", "cache"):
        answer = await kit.ask("search_manga_catalog", {"query": "送料はいくら?"})
        assert (answer.meta["source"], POLICIES in answer.note, ELSEWHERE in answer.value) == (source, True, False)


@cases("text", ["what comes out next month?", "来月は何が出る?"])
async def test_question_about_releases_alone_returns_no_titles(kit: Kit, text: str) -> None:
    for mood in (Mood.WORKS, Mood.FAILS):
        kit.backends.catalog.mood = mood
        answer = await kit.ask("search_manga_catalog", {"query": text})
        assert (answer.value["results"], answer.value["total"]) == ([], 0)
        assert answer.note.endswith(SAYS)
        assert "Nothing was searched for" in answer.note


@cases("text", ["new Pirate Sea volume next month", "海賊の海の新刊は来月出る?"])
async def test_title_named_in_a_question_about_releases_is_shown_with_the_pointer(kit: Kit, text: str) -> None:
    answer = await kit.ask("search_manga_catalog", {"query": text})
    assert [card["title"] for card in answer.value["results"]][:1] == ["Pirate Sea"]
    assert SAYS in answer.note
