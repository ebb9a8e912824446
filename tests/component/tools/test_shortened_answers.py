"""Shortened answers in the demo shop: how to get the rest, and what "these" then refers to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.calling import called, opened
from tools.results.shortening import estimate

Json = dict[str, Any]
SEARCH = {"query": "adventure", "max_results": 20}


def ids(result: Json) -> list[str]:
    return [row["title_id"] for row in result["structuredContent"]["results"]]


async def test_next_page_begins_behind_the_last_row_of_a_shortened_one(tmp_path: Path) -> None:
    async with (
        opened(tmp_path, result_tokens=400, rate_limit=False) as app,
        opened(tmp_path, result_tokens=50_000) as generous,
    ):
        for asked in (SEARCH, SEARCH | {"in_stock": True, "max_price_jpy": 600}):
            whole = ids(await called(generous, "search_manga_catalog", asked))
            seen: list[str] = []
            offset = 0
            while len(seen) < len(whole):
                page = await called(app, "search_manga_catalog", asked | {"offset": offset})
                offset = page["structuredContent"]["next_offset"]
                assert estimate(page["content"][0]["text"]) <= 400
                seen += ids(page)
            assert seen[: len(whole)] == whole


async def test_shortened_answer_names_what_is_missing_and_the_next_offset(tmp_path: Path) -> None:
    async with opened(tmp_path, result_tokens=600) as app:
        told = (await called(app, "search_manga_catalog", SEARCH))["structuredContent"]
    shown = len(told["results"])
    assert told["truncated"] is True
    assert f"Shortened: {shown} of 20, offset {shown} goes on." in told["note"]
    assert "synopsis" in told["note"]
    assert all(row.keys() >= {"title_id", "title", "price_jpy", "in_stock"} for row in told["results"])


async def test_follow_up_on_a_shortened_search_covers_only_the_titles_shown(tmp_path: Path) -> None:
    """ "The second one" is the second title that the customer saw, not one that was cut off."""
    async with opened(tmp_path, result_tokens=500) as app:
        found = await called(app, "search_manga_catalog", SEARCH)
        by_set = {"result_set": found["structuredContent"]["result_set"]}
        for asked in ({}, by_set):
            stock = (await called(app, "check_inventory", asked))["structuredContent"]
            checked = [row["title_id"] for row in stock["items"]]
            assert checked == ids(found)[: len(checked)]
            assert len(checked) <= len(ids(found)) < 20


async def test_shortened_answer_names_its_whole_result_except_for_orders(tmp_path: Path) -> None:
    async with opened(tmp_path, result_tokens=1500) as app:
        told = await called(app, "search_manga_catalog", SEARCH)
        assert "manga://session/results/called" in told["structuredContent"]["note"]
    async with opened(tmp_path, result_tokens=250) as app:
        order = (await called(app, "lookup_order", {"order_id": "MNG-DEMO1001"}))["structuredContent"]
        assert order["truncated"] is True
        assert order.keys() >= {"order_id", "status", "late", "total_jpy"}
        assert "manga://" not in order["note"]
