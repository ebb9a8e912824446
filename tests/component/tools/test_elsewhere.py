"""A search names the tool that answers better, to whom it is there for."""

from __future__ import annotations

import pytest

from tests.support.pipeline import Kit
from tests.support.store import Mood
from tools.results.elsewhere import ELSEWHERE, POINTERS, POLICIES

pytestmark = pytest.mark.virtual_time
ASKED = {"query": "what comes out this month?"}
(SAYS,) = [pointer.says for pointer in POINTERS if pointer.tool == "find_volumes"]


async def test_who_asks_what_comes_out_is_told_of_the_tool_that_knows_live_and_from_the_cache(kit: Kit) -> None:
    for source in ("live", "cache"):
        answer = await kit.ask("search_manga_catalog", ASKED)
        assert (answer.meta["source"], SAYS in answer.note, ELSEWHERE in answer.value) == (source, True, False)


async def test_a_tool_that_is_off_is_not_named_though_another_has_asked_the_same(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", ASKED)
    kit.switch(find_volumes=False)
    answer = await kit.ask("search_manga_catalog", ASKED)
    assert (answer.meta["source"], SAYS in answer.note, ELSEWHERE in answer.value) == ("cache", False, False)


async def test_it_is_named_while_the_catalogue_is_away_too(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.FAILS
    answer = await kit.ask("search_manga_catalog", ASKED)
    assert (answer.meta["source"], SAYS in answer.note) == ("fallback", True)


async def test_who_asks_for_something_else_is_told_of_nothing(kit: Kit) -> None:
    assert "find_volumes" not in (await kit.ask("search_manga_catalog", {"query": "pirates"})).note


async def test_who_asks_what_shipping_costs_is_told_where_the_shop_says_so(kit: Kit) -> None:
    for source in ("live", "cache"):
        answer = await kit.ask("search_manga_catalog", {"query": "送料はいくら?"})
        assert (answer.meta["source"], POLICIES in answer.note, ELSEWHERE in answer.value) == (source, True, False)
