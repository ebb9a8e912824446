"""The cluster dies while a server has customers: what they are told then, on real servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.stack import opensearch
from tests.stack.require import require
from tests.stack.seeding import Destination
from tests.support.clients import Connections
from tests.support.serving import served
from tests.support.stack import seeded

EACH_TOOL: dict[str, dict[str, Any]] = {
    "search_manga_catalog": {"query": "pirates looking for a treasure", "max_results": 3},
    "get_manga_details": {"title_id": "manga-001001"},
    "check_inventory": {"title_ids": ["manga-001001", "manga-001016"]},
    "get_recommendations": {"criteria": "quiet fantasy about time passing", "count": 2},
    "lookup_order": {"order_id": "MNG-DEMO1001"},
}
FRESH_QUESTION = {"query": "volleyball at school", "max_results": 3}
CUSTOMER = {"sessionId": "mid-conversation", "userId": "demo-user-1"}
FROM_OPENSEARCH = ("search_manga_catalog", "get_manga_details", "get_recommendations")


pytestmark = pytest.mark.timeout(300)


def many_titles(catalog: Path) -> Path:
    """More than the popular ones that every process keeps."""
    rows = [
        {
            "title_id": f"manga-{n:06}",
            "title": {"en": f"Lighthouse Number {n}"},
            "popularity_rank": n + 1,
            "rating_count": 900 - n,
            "synopsis": {"en": f"Keeper {n} folds letters."},
            "related": [f"manga-{(n + 1) % 700:06}"],
            "offers": [{"format": "physical", "price_jpy": 500 + n, "stock": 3}],
        }
        for n in range(700)
    ]
    catalog.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return catalog


def fill(settings: dict[str, str], *arguments: str) -> None:
    filled = seeded(settings, *arguments)
    assert filled.returncode == 0, filled.stderr


@contextmanager
def client_of(url: str, folder: Path) -> Iterator[Any]:
    connections = Connections(folder / "clients", folder / "cache")
    try:
        yield connections.open("sse-2025", url)
    finally:
        connections.close()


async def test_details_of_an_unpopular_title_survive_the_cluster(
    target: Destination, redis_url: str, tmp_path: Path
) -> None:
    """More titles than the popular ones that every process keeps. One that a search found a moment before is told of whole
    by the store's record once the cluster is dead, with price and stock, and says what is missing."""
    require("OpenSearch", opensearch.missing())
    catalog = many_titles(tmp_path / "many.jsonl")
    with opensearch.started() as node:
        settings = {**target.settings, "MANGA_CATALOG_URL": node.url, "MANGA_REDIS_URL": redis_url}
        fill(settings, "--catalog", str(catalog))
        with (
            served(tmp_path / "server", tmp_path / "cache", **settings, MANGA_CATALOG_FILE=str(catalog)) as serving,
            client_of(serving.url, tmp_path) as client,
        ):
            async with asyncio.timeout(60):  # a busy machine may be late for a search, and popular titles stand in
                while "manga-000650" not in await _shown(client, "Lighthouse Number 650"):
                    await asyncio.sleep(0.1)
            node.child.kill()
            told = [await client.call("get_manga_details", {"title_id": f"manga-{n:06}"}) for n in (650, 651, 699)]
    for number, answer in zip((650, 651, 699), told, strict=True):
        assert (answer.call["source"], answer.call["degraded"]) == ("live", ["catalog"]), number
        assert (answer.value["title"], answer.value["price_jpy"]) == (f"Lighthouse Number {number}", 500 + number)
        assert answer.value["synopsis"]["en"] == f"Keeper {number} folds letters."
        assert [each["title_id"] for each in answer.value["related"]] == [f"manga-{(number + 1) % 700:06}"]


async def test_a_cluster_that_dies_in_a_conversation_changes_only_where_answers_come_from(
    target: Destination, redis_url: str, tmp_path: Path
) -> None:
    """The same questions before and after: the same results, those of the catalogue now from what is remembered."""
    require("OpenSearch", opensearch.missing())
    with opensearch.started() as node:
        settings = {**target.settings, "MANGA_CATALOG_URL": node.url, "MANGA_REDIS_URL": redis_url}
        fill(settings)
        with (
            served(tmp_path / "server", tmp_path / "cache", **settings, MANGA_CACHE_TTL_S="1") as serving,
            client_of(serving.url, tmp_path) as client,
        ):
            before = {tool: await _answered_live(client, tool) for tool in EACH_TOOL}
            node.child.kill()
            after = {tool: await client.call(tool, asked, **CUSTOMER) for tool, asked in EACH_TOOL.items()}
            async with asyncio.timeout(30):  # until what was fresh a moment ago is so no more
                while after["search_manga_catalog"].call["source"] != "stale":
                    await asyncio.sleep(0.1)
                    again = await client.call("search_manga_catalog", EACH_TOOL["search_manga_catalog"], **CUSTOMER)
                    assert again.value["results"] == before["search_manga_catalog"].value["results"]
                    after["search_manga_catalog"] = again
            fallback = await client.call("search_manga_catalog", FRESH_QUESTION, **CUSTOMER)
    for tool, answer in after.items():
        assert _without_times(answer.value) == _without_times(before[tool].value), tool
    for call in (after[tool].call for tool in FROM_OPENSEARCH):
        # Details that are no longer fresh, as on a slow machine, are told of by the store's record.
        assert call["source"] in ("cache", "stale") or call["degraded"] == ["catalog"], call
    assert after["lookup_order"].call["source"] == "live"
    assert (fallback.call["source"], fallback.call["fallback"]) == ("fallback", "cached_popular_manga")
    assert len(fallback.value["results"]) == 3


async def _answered_live(client: Any, tool: str) -> Any:
    """A busy machine may be late for the first of them, which then has a lower rung."""
    async with asyncio.timeout(60):
        while (answer := await client.call(tool, EACH_TOOL[tool], **CUSTOMER)).call["degraded"] or "fallback" in answer.call:
            await asyncio.sleep(0.1)  # breakers have to close
    return answer


async def _shown(client: Any, query: str) -> list[str]:
    found = await client.call("search_manga_catalog", {"query": query, "max_results": 20})
    return [card["title_id"] for card in found.value["results"]]


def _without_times(value: Any) -> Any:
    """Stock is read anew, so its time is another; and what is stale says so."""
    own = ("as_of", "note")
    return json.loads(json.dumps(value), object_hook=lambda each: {k: v for k, v in each.items() if k not in own})
