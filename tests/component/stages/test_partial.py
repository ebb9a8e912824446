"""A partial answer names its missing parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.breakers import mend
from tests.support.calls import ARGUMENTS, IDS, TITLE
from tests.support.pipeline import Kit
from tests.support.store import BAD, Mood
from tools.store.failures import DependencyFailure

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize("mood", BAD)
@pytest.mark.parametrize("tool", ["search_manga_catalog", "get_manga_details", "get_recommendations"])
async def test_late_price_and_stock_are_null_and_labelled(kit: Kit, tool: str, mood: Mood) -> None:
    kit.backends.stock.mood = mood
    answer = await kit.ask(tool, ARGUMENTS[tool])
    assert (answer.failure, answer.meta["source"], answer.meta["degraded"]) == (None, "live", ["stock"])
    cards = answer.value.get("results") or answer.value.get("recommendations") or [answer.value]
    assert {(card["price_jpy"], card["in_stock"]) for card in cards} == {(None, None)}
    assert "some prices and stock" in answer.note
    kit.backends.stock.mood = Mood.WORKS
    for guard in kit.guards.values():
        await mend(guard.breaker)
    again = await kit.ask(tool, ARGUMENTS[tool])
    assert (again.meta["source"], again.meta["degraded"]) == ("cache", [])
    cards = again.value.get("results") or again.value.get("recommendations") or [again.value]
    assert None not in {card["price_jpy"] for card in cards}, "stock is joined onto what was cached"


async def test_late_related_titles_are_left_out_and_labelled(kit: Kit) -> None:
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


async def test_late_similar_titles_are_left_out_and_labelled(kit: Kit) -> None:
    inner = kit.backends.catalog.inner

    class NoneAlike:
        def __getattr__(self, method: str) -> Any:
            if method == "for_reader":
                raise_it: Any = _fail
                return raise_it
            return getattr(inner, method)

    kit.backends.catalog.inner = NoneAlike()
    answer = await kit.ask("get_recommendations", {"criteria": "a doctor who hunts what nobody has seen"}, user="u")
    assert answer.meta["degraded"] == ["taste"]
    assert answer.value["recommendations"]


async def _fail(*_: Any) -> Any:
    raise DependencyFailure("down")


async def test_partly_late_inventory_lists_the_unanswered_ids(kit: Kit) -> None:
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


async def test_second_stock_check_within_five_seconds_is_answered_from_memory(kit: Kit) -> None:
    await kit.ask("check_inventory", IDS)
    assert (await kit.ask("check_inventory", IDS)).meta["source"] == "cache"
    assert kit.calls_of("availability") == 1
