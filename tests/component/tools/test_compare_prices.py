"""compare_prices, through the whole pipeline."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from session.redis.multiplexed import MultiplexedRedis
from tests.support.breakers import mend
from tests.support.pipeline import Kit, opening_kits
from tests.support.store import BAD, Mood, open_shelf

pytestmark = pytest.mark.virtual_time
FAIR = {"name": "Fair", "start": "01-01", "until": "12-31"}
OVER = {"until": "2020-12-31"}


def a_title(number: int, offers: list[dict[str, Any]], **known: Any) -> dict[str, Any]:
    return {"title_id": f"manga-{number:06}", "title": {"en": f"Title {number}"}, "offers": offers, **known}


def sold(format_: str, yen: int, **more: Any) -> dict[str, Any]:
    return {"format": format_, "price_jpy": yen, **more}


FINISHED = a_title(
    1,
    [
        sold("physical", 528, stock=9),
        sold("digital", 300, list_price_jpy=480, campaign=FAIR),
        sold("set", 5_280, stock=2),
        sold("used_set", 2_640, stock=1),
    ],
    volumes=10,
    status="Finished",
)
RUNNING = a_title(2, [sold("physical", 500, list_price_jpy=600, stock=4)], volumes=3, status="Publishing")
UNCOUNTED = a_title(3, [sold("digital", 250, list_price_jpy=400, campaign=OVER)])
NOT_SOLD = a_title(4, [])
ALL = [f"manga-{number:06}" for number in (1, 2, 3)]
MANY = [a_title(number, [sold("physical", 500 + number, stock=1)], volumes=1) for number in range(11, 31)]


@pytest.fixture
async def kit(redis: MultiplexedRedis, tmp_path: Path) -> AsyncIterator[Kit]:
    async with (
        open_shelf(tmp_path, [FINISHED, RUNNING, UNCOUNTED, NOT_SOLD, *MANY]) as shelf,
        opening_kits(redis, shelf.in_moods) as opener,
    ):
        own: Kit = await opener()
        own.switch(enable_price_comparison_tool=True)
        yield own


async def formats(kit: Kit, title_id: str) -> dict[str, Any]:
    (item,) = (await kit.ask("compare_prices", {"title_ids": [title_id]})).value["items"]
    return {each["format"]: each for each in item["formats"]}


async def test_compare_prices_is_off_by_default_and_names_its_alternative(kit: Kit) -> None:
    kit.switch()
    answer = await kit.ask("compare_prices", {"title_ids": ALL})
    assert answer.failure == "TOOL_NOT_FOUND"
    assert "get_manga_details" in answer.result["structuredContent"]["error"]["data"]["details"]["instead"]
    kit.switch(compare_prices=True)
    assert (await kit.ask("compare_prices", {"title_ids": ALL})).failure is None


async def test_title_is_priced_in_every_format(kit: Kit) -> None:
    told = await formats(kit, "manga-000001")
    assert {name: (each["per_volume_jpy"], each["series_jpy"]) for name, each in told.items()} == {
        "physical": (528, 5_280),
        "digital": (300, 3_000),
        "set": (None, 5_280),
        "used_set": (None, 2_640),
    }
    assert [name for name, each in told.items() if each.get("fixed_price")] == ["physical", "set"]
    assert (told["set"]["saving"]["jpy"], told["used_set"]["saving"]["jpy"]) == (0, 2_640)
    assert told["used_set"]["saving"]["percent"] == 50


async def test_campaign_price_has_its_last_day_and_the_list_price(kit: Kit) -> None:
    digital = (await formats(kit, "manga-000001"))["digital"]
    assert digital["list_price_jpy"] == 480
    assert digital["campaign"]["name"] == "Fair"
    assert digital["campaign"]["until"].endswith("-12-31")


async def test_expired_campaign_is_not_shown(kit: Kit) -> None:
    digital = (await formats(kit, "manga-000003"))["digital"]
    assert digital["per_volume_jpy"] == 400
    assert not {"campaign", "list_price_jpy"} & set(digital)


async def test_discount_on_new_paper_volumes_is_ignored(kit: Kit) -> None:
    paper = (await formats(kit, "manga-000002"))["physical"]
    assert (paper["per_volume_jpy"], paper["series_jpy"], paper["fixed_price"]) == (600, 1_800, True)
    assert "list_price_jpy" not in paper
    details = await kit.ask("get_manga_details", {"title_id": "manga-000002"})
    assert (details.value["price_jpy"], details.value["offers"][0]["price_jpy"]) == (600, 600)


async def test_titles_are_compared_by_price_to_start_and_to_complete(kit: Kit) -> None:
    answer = await kit.ask("compare_prices", {"title_ids": ALL})
    assert answer.value["comparison"] == {
        "cheapest_to_start": {"title_id": "manga-000001", "format": "digital", "jpy": 300},
        "cheapest_complete": {"title_id": "manga-000002", "format": "physical", "jpy": 1_800},
    }
    assert [item["cheapest"] for item in answer.value["items"]] == [
        {"per_volume": "digital", "whole": "used_set"},
        {"per_volume": "physical", "whole": "physical"},
        {"per_volume": "digital", "whole": None},
    ]


async def test_running_series_and_unknown_length_are_named_in_the_note(kit: Kit) -> None:
    answer = await kit.ask("compare_prices", {"title_ids": ALL})
    assert [(item["complete"], item["volumes"]) for item in answer.value["items"]] == [(True, 10), (False, 3), (None, None)]
    assert "price of its volumes so far" in answer.note
    assert "their number is unknown" in answer.note
    assert "comparison" not in (await kit.ask("compare_prices", {"title_ids": ALL[:1]})).value
    assert (await kit.ask("compare_prices", {"title_ids": ALL[:1]})).note == ""


async def test_titles_not_sold_are_listed_as_not_found(kit: Kit) -> None:
    answer = await kit.ask("compare_prices", {"title_ids": ["manga-000004", "manga-999999", "manga-000001"]})
    assert set(answer.value["not_found"]) == {"manga-000004", "manga-999999"}
    assert [item["title"] for item in answer.value["items"]] == ["Title 1"]


async def test_call_without_ids_compares_the_first_ten_titles_shown_last(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", {"query": "Title", "max_results": 20}, session="s")
    answer = await kit.ask("compare_prices", {}, session="s")
    assert len(answer.value["items"]) + len(answer.value["not_found"]) == 10
    assert answer.value["checked"] == "last_search"
    assert "the first 10" in answer.note


async def test_result_set_of_a_search_may_be_compared(kit: Kit) -> None:
    found = await kit.ask("search_manga_catalog", {"query": "Title 1"}, session="s")
    answer = await kit.ask("compare_prices", {"result_set": found.value["result_set"]}, session="t")
    assert [item["title_id"] for item in answer.value["items"]] == [each["title_id"] for each in found.value["results"]]


async def test_partly_late_answer_lists_the_unanswered_titles(kit: Kit) -> None:
    inner = kit.backends.stock.inner

    class Half:
        async def availability(self, ids: list[str], deadline: Any) -> Any:
            return replace(await inner.availability(ids[:1], deadline), unanswered=tuple(ids[1:]))

    kit.backends.stock.inner = Half()
    answer = await kit.ask("compare_prices", {"title_ids": ALL})
    assert [item["title_id"] for item in answer.value["items"]] == ALL[:1]
    assert (answer.value["unanswered"], answer.meta["degraded"]) == (ALL[1:], ["stock"])


async def test_prices_read_within_five_seconds_come_from_the_cache(kit: Kit) -> None:
    await kit.ask("check_inventory", {"title_ids": ALL})
    assert (await kit.ask("compare_prices", {"title_ids": ALL})).meta["source"] == "cache"
    assert kit.calls_of("availability") == 1


@pytest.mark.parametrize("mood", BAD)
async def test_last_known_prices_are_used_without_stock_promises_while_stock_fails(kit: Kit, mood: Mood) -> None:
    await kit.ask("compare_prices", {"title_ids": ALL[:2]})
    kit.clock.advance(60)
    kit.backends.stock.mood = mood
    answer = await kit.ask("compare_prices", {"title_ids": ALL})
    assert (answer.meta["source"], answer.meta["fallback"]) == ("fallback", "cached_inventory_snapshot")
    assert [(item["title_id"], item["availability"]) for item in answer.value["items"]] == [
        (each, "last_known") for each in ALL[:2]
    ]
    assert {each["in_stock"] for item in answer.value["items"] for each in item["formats"]} == {None}
    assert answer.value["unanswered"] == ALL[2:]
    assert answer.value["items"][0]["formats"][0]["series_jpy"] == 5_280, "popular titles are known by heart"


@pytest.mark.parametrize("mood", BAD)
async def test_comparison_fails_when_no_price_is_known(kit: Kit, mood: Mood) -> None:
    kit.backends.stock.mood = mood
    answer = await kit.ask("compare_prices", {"title_ids": ALL})
    assert answer.failure in ("DEPENDENCY_FAILURE", "TIMEOUT")


@pytest.mark.parametrize("mood", BAD)
async def test_volume_counts_come_from_the_store_while_the_catalogue_fails(kit: Kit, mood: Mood) -> None:
    kit.backends.catalog.mood = mood
    answer = await kit.ask("compare_prices", {"title_ids": ALL})
    assert (answer.meta["source"], answer.meta["degraded"]) == ("live", ["catalog"])
    assert [item["volumes"] for item in answer.value["items"]] == [10, 3, None]


@pytest.mark.parametrize("mood", BAD)
async def test_prices_are_answered_without_volume_counts_when_none_are_known(kit: Kit, mood: Mood) -> None:
    kit.backends.catalog.mood = kit.backends.titles.mood = mood
    answer = await kit.ask("compare_prices", {"title_ids": ALL})
    assert (answer.failure, answer.meta["degraded"]) == (None, ["catalog"])
    assert answer.value["items"][0]["formats"][0]["per_volume_jpy"] == 528
    for guard in kit.guards.values():
        await mend(guard.breaker)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"title_ids": ["manga-000001"] * 11}, "maxItems"),
        ({"title_ids": ["-x"]}, "pattern"),
        ({"title_ids": ["manga-000001"], "result_set": f"rs_{'a' * 16}"}, "not"),
    ],
)
async def test_contradictory_arguments_are_refused_by_rule(kit: Kit, arguments: dict[str, Any], rule: str) -> None:
    answer = await kit.ask("compare_prices", arguments)
    (violation,) = answer.result["structuredContent"]["error"]["data"]["details"]["violations"]
    assert (answer.failure, violation["rule"]) == ("VALIDATION_ERROR", rule)


async def test_comparison_without_ids_or_shown_titles_is_refused(kit: Kit) -> None:
    answer = await kit.ask("compare_prices", {}, session="new")
    assert answer.failure == "VALIDATION_ERROR"
    assert "search_manga_catalog" in json.dumps(answer.result["structuredContent"])
