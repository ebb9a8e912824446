"""The seed command against real servers: filled once, twice, half and anew; and the server on what it has filled."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from server.config.settings import DEMO
from tests.stack import opensearch
from tests.stack.dynamodb import KEYS, REGION
from tests.stack.require import require
from tests.support.clients import Connections
from tests.support.serving import ROOT, clean_environment, served, wait_for_meaning
from tests.support.stack import seeded

pytestmark = pytest.mark.timeout(300)

TITLES = 261
BOUND_SECONDS = 120
EACH_TOOL: dict[str, dict[str, Any]] = {
    "search_manga_catalog": {"query": "pirates looking for a treasure", "max_results": 3},
    "get_manga_details": {"title_id": "manga-001001"},
    "check_inventory": {"title_ids": ["manga-001001", "manga-001016"]},
    "get_recommendations": {"criteria": "quiet fantasy about time passing", "count": 2},
    "lookup_order": {"order_id": "MNG-DEMO1001"},
}
FROM_OPENSEARCH = ("search_manga_catalog", "get_manga_details", "get_recommendations")


@dataclass(frozen=True, slots=True)
class Place:
    """An alias and tables of one's own in the shared servers, and a look at what is in them."""

    node: str
    endpoint: str
    name: str

    @property
    def settings(self) -> dict[str, str]:
        """Words alone, since most loads here are about other things than meaning."""
        return {
            "MANGA_CATALOG_URL": f"{self.node}/?alias={self.name}",
            "MANGA_STORE_URL": f"dynamodb://{REGION}?endpoint={self.endpoint}&table_prefix={self.name}-",
            "MANGA_EMBEDDER": "none",
        }

    def seed(self, *arguments: str, **settings: str) -> str:
        """What it said. Fails the test when it did not end well."""
        done = seeded({**self.settings, **settings}, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def indices(self) -> dict[str, Any]:
        found = httpx.get(f"{self.node}/{self.name}-*/_stats/indexing", params={"expand_wildcards": "all"}, timeout=10)
        return {name: each["primaries"]["indexing"]["index_total"] for name, each in found.json()["indices"].items()}

    def serving(self) -> list[str]:
        found = httpx.get(f"{self.node}/_alias/{self.name}", timeout=10)
        return sorted(found.json()) if found.status_code == 200 else []

    def titles(self) -> int:
        body = {"size": 0, "track_total_hits": True}
        found = httpx.post(f"{self.node}/{self.name}/_search", json=body, timeout=10).json()
        return int(found["hits"]["total"]["value"])

    @property
    def tables(self) -> Any:
        return boto3.client("dynamodb", region_name=REGION, endpoint_url=self.endpoint, **KEYS)

    def table_names(self) -> list[str]:
        names = self.tables.list_tables(ExclusiveStartTableName=self.name)["TableNames"]
        return [name for name in names if name.startswith(f"{self.name}-")]

    def items(self, table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for page in self.tables.get_paginator("scan").paginate(TableName=f"{self.name}-{table}"):
            found += page["Items"]
        return found


@pytest.fixture
def place(opensearch_url: str, dynamodb_endpoint: str) -> Iterator[Place]:
    made = Place(opensearch_url, dynamodb_endpoint, f"seed{uuid.uuid4().hex[:8]}")
    yield made
    for name in made.indices():
        httpx.delete(f"{opensearch_url}/{name}", timeout=30)
    for name in made.table_names():
        made.tables.delete_table(TableName=name)


def demo_of(path: Path, titles: int) -> Path:
    """The first titles of the demo catalogue, as a catalogue of its own."""
    rows = (DEMO / "catalog.jsonl").read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(rows[:titles]), "utf-8")
    return path


def wait_until(condition: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + BOUND_SECONDS
    while not condition():
        assert time.monotonic() < give_up, f"not within {BOUND_SECONDS} s: {what}"
        time.sleep(0.02)


def test_a_dry_run_says_what_would_happen_and_changes_nothing(place: Place) -> None:
    """With nothing there yet: no index, no table, and the numbers that a load then has."""
    said = place.seed("--dry-run")
    assert f"table {place.name}-stock would be created: {TITLES} new and 0 changed items would be written" in said
    assert f"{TITLES} titles would be written" in said
    assert said.splitlines()[-1].startswith("nothing was changed")
    assert (place.indices(), place.table_names()) == ({}, [])


def test_the_demo_catalogue_is_loaded_once_however_often_it_is_seeded(place: Place) -> None:
    """The second run finds everything there: same index, not one document indexed more, no item written."""
    first = place.seed()
    assert place.titles() == TITLES
    orders = (DEMO / "orders.jsonl").read_text("utf-8").splitlines()
    assert [len(place.items(table)) for table in ("titles", "stock", "orders")] == [TITLES, TITLES, len(orders)]
    assert f"{place.name}-profile created" in first
    before = place.indices()

    second = place.seed()
    assert place.indices() == before
    assert list(before) == place.serving()
    assert f"serves these {TITLES} titles already: nothing to do" in second
    assert f"0 new and 0 changed items written, {TITLES} unchanged" in second
    assert second.splitlines()[-1].startswith("nothing to do")


def test_only_what_is_missing_or_differs_is_written_to_the_tables(place: Place) -> None:
    """As after a kill in the middle, and after a day of sales; what others keep in an item is theirs."""
    place.seed(MANGA_CATALOG_URL="embedded:")
    stock = place.items("stock")
    table = f"{place.name}-stock"
    for item in stock[:100]:
        place.tables.delete_item(TableName=table, Key={"title_id": item["title_id"]})
    place.tables.put_item(TableName=table, Item={**stock[100], "volumes": {"M": {}}})
    place.tables.put_item(TableName=table, Item={**stock[101], "counted_by": {"S": "the warehouse"}})
    would = place.seed("--dry-run", MANGA_CATALOG_URL="embedded:")
    assert f"100 new and 1 changed items would be written, {TITLES - 101} unchanged" in would

    assert f"100 new and 1 changed items written, {TITLES - 101} unchanged" in place.seed(MANGA_CATALOG_URL="embedded:")
    now = {item["title_id"]["S"]: item for item in place.items("stock")}
    assert now.pop(stock[101]["title_id"]["S"])["counted_by"] == {"S": "the warehouse"}
    assert now == {item["title_id"]["S"]: item for item in stock if item is not stock[101]}


def test_a_load_that_was_killed_goes_on_where_it_stopped(place: Place, tmp_path: Path) -> None:
    """SIGKILL once some titles are in the index: nothing is in service yet, and the next run writes only the others."""
    settings = {**place.settings, "MANGA_EMBEDDER": "local", "MANGA_STORE_URL": "embedded:"}
    command = [sys.executable, "-m", "infra.seed"]
    environment = clean_environment(tmp_path, settings)
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            wait_until(lambda: process.poll() is not None or sum(place.indices().values()) > 0, "a title in the index")
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
        finally:
            process.send_signal(signal.SIGKILL)
    assert place.serving() == []
    (name,) = place.indices()

    said = place.seed(MANGA_EMBEDDER="local", MANGA_STORE_URL="embedded:")
    assert f"index {name} goes on at " in said
    there = int(said.partition("goes on at ")[2].partition(":")[0])
    assert 0 < there < TITLES
    assert f"{TITLES - there} titles written" in said
    assert (place.serving(), place.titles()) == ([name], TITLES)


def test_another_catalogue_takes_over_and_the_last_one_stays_for_a_way_back(place: Place, tmp_path: Path) -> None:
    """One step of the alias; the one before the last is removed."""
    only_titles = {"MANGA_STORE_URL": "embedded:"}
    generations = []
    for titles in (5, 6, 7):
        said = place.seed("--catalog", str(demo_of(tmp_path / f"{titles}.jsonl", titles)), **only_titles)
        generations += place.serving()
        assert place.titles() == titles
        assert len(generations) == len(set(generations))
    assert f"instead of {generations[1]}" in said
    assert sorted(place.indices()) == sorted(generations[1:])


def test_a_table_with_other_keys_stops_the_load_before_anything_is_changed(place: Place) -> None:
    """One line with the table's name and what to do; no other table, no index."""
    place.tables.create_table(
        TableName=f"{place.name}-orders",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "order_id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "order_id", "KeyType": "HASH"}],
    )
    done = seeded(place.settings)
    assert done.returncode == 1
    assert f"{place.name}-orders: has other keys than it should; remove it" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (place.table_names(), place.indices()) == ([f"{place.name}-orders"], {})


def test_a_cluster_that_is_away_stops_the_load_before_tables_are_made(place: Place) -> None:
    """All that can be known beforehand is asked first."""
    done = seeded({**place.settings, "MANGA_CATALOG_URL": "http://127.0.0.1:1"})
    assert done.returncode == 1
    assert "connection refused" in done.stderr
    assert place.table_names() == []


def test_an_index_that_has_the_name_of_the_alias_is_left_alone(place: Place) -> None:
    """Somebody else's index is not removed to make room."""
    httpx.put(f"{place.node}/{place.name}/_doc/1?refresh=true", json={"whose": "somebody's"}, timeout=30)
    try:
        done = seeded({**place.settings, "MANGA_STORE_URL": "embedded:"})
        assert done.returncode == 1
        assert "is an index, and has to be an alias" in done.stderr
        assert httpx.get(f"{place.node}/{place.name}/_doc/1", timeout=10).json()["_source"] == {"whose": "somebody's"}
    finally:
        httpx.delete(f"{place.node}/{place.name}", timeout=30)


def test_the_smoke_test_passes_on_real_servers(place: Place, redis_url: str, tmp_path: Path) -> None:
    """The five tools, by curl, on OpenSearch, DynamoDB and Redis as the seed command filled them."""
    settings = {**place.settings, "MANGA_EMBEDDER": "local"}
    place.seed(MANGA_EMBEDDER="local")
    with served(tmp_path / "server", tmp_path / "cache", **settings, MANGA_REDIS_URL=redis_url) as serving:
        wait_for_meaning(serving)
        done = subprocess.run(
            ["sh", "infra/smoke.sh", serving.url], cwd=ROOT, capture_output=True, text=True, timeout=BOUND_SECONDS
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all well\n")


async def test_details_of_an_unpopular_title_survive_the_cluster(place: Place, redis_url: str, tmp_path: Path) -> None:
    """More titles than the popular ones that every process keeps. One that a search found a moment before is told of whole
    by the store's record once the cluster is dead, with price and stock, and says what is missing."""
    require("OpenSearch", opensearch.missing())
    catalog = tmp_path / "many.jsonl"
    rows = [
        {
            "title_id": f"shop:{n}",
            "title": {"en": f"Lighthouse Number {n}"},
            "popularity_rank": n + 1,
            "rating_count": 900 - n,
            "synopsis": {"en": f"Keeper {n} folds letters."},
            "related": [f"shop:{(n + 1) % 700}"],
            "offers": [{"format": "physical", "price_jpy": 500 + n, "stock": 3}],
        }
        for n in range(700)
    ]
    catalog.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with opensearch.started() as node:
        settings = {**place.settings, "MANGA_CATALOG_URL": node.url, "MANGA_REDIS_URL": redis_url}
        filled = seeded(settings, "--catalog", str(catalog))
        assert filled.returncode == 0, filled.stderr
        with served(tmp_path / "server", tmp_path / "cache", **settings, MANGA_CATALOG_FILE=str(catalog)) as serving:
            connections = Connections(tmp_path / "clients", tmp_path / "cache")
            try:
                client = connections.open("sse-2025", serving.url)
                async with asyncio.timeout(60):  # a busy machine may be late for a search, and popular titles stand in
                    while "shop:650" not in await _shown(client, "Lighthouse Number 650"):
                        await asyncio.sleep(0.1)
                node.child.kill()
                told = [await client.call("get_manga_details", {"title_id": f"shop:{n}"}) for n in (650, 651, 699)]
            finally:
                connections.close()
    for number, answer in zip((650, 651, 699), told, strict=True):
        assert (answer.call["source"], answer.call["degraded"]) == ("live", ["catalog"]), number
        assert (answer.value["title"], answer.value["price_jpy"]) == (f"Lighthouse Number {number}", 500 + number)
        assert answer.value["synopsis"]["en"] == f"Keeper {number} folds letters."
        assert [each["title_id"] for each in answer.value["related"]] == [f"shop:{(number + 1) % 700}"]


async def test_a_cluster_that_dies_in_a_conversation_changes_only_where_answers_come_from(
    place: Place, redis_url: str, tmp_path: Path
) -> None:
    """The same questions before and after: the same results, those of the catalogue now from what is remembered."""
    require("OpenSearch", opensearch.missing())
    with opensearch.started() as node:
        settings = {**place.settings, "MANGA_CATALOG_URL": node.url, "MANGA_REDIS_URL": redis_url}
        filled = seeded(settings)
        assert filled.returncode == 0, filled.stderr
        with served(tmp_path / "server", tmp_path / "cache", **settings, MANGA_CACHE_TTL_S="1") as serving:
            connections = Connections(tmp_path / "clients", tmp_path / "cache")
            try:
                client = connections.open("sse-2025", serving.url)
                who = {"sessionId": "mid-conversation", "userId": "demo-user-1"}
                before = {tool: await client.call(tool, asked, **who) for tool, asked in EACH_TOOL.items()}
                assert {tool: answer.call["source"] for tool, answer in before.items()} == dict.fromkeys(EACH_TOOL, "live")

                node.child.kill()
                after = {tool: await client.call(tool, asked, **who) for tool, asked in EACH_TOOL.items()}
                async with asyncio.timeout(30):  # until what was fresh a moment ago is so no more
                    while after["search_manga_catalog"].call["source"] != "stale":
                        await asyncio.sleep(0.1)
                        again = await client.call("search_manga_catalog", EACH_TOOL["search_manga_catalog"], **who)
                        assert again.value["results"] == before["search_manga_catalog"].value["results"]
                        after["search_manga_catalog"] = again
                fresh_question = {"query": "volleyball at school", "max_results": 3}
                fallback = await client.call("search_manga_catalog", fresh_question, **who)
            finally:
                connections.close()
    for tool, answer in after.items():
        assert _without_times(answer.value) == _without_times(before[tool].value), tool
    assert {after[tool].call["source"] for tool in FROM_OPENSEARCH} <= {"cache", "stale"}
    assert after["lookup_order"].call["source"] == "live"
    assert (fallback.call["source"], fallback.call["fallback"]) == ("fallback", "cached_popular_manga")
    assert len(fallback.value["results"]) == 3


async def _shown(client: Any, query: str) -> list[str]:
    found = await client.call("search_manga_catalog", {"query": query, "max_results": 20})
    return [card["title_id"] for card in found.value["results"]]


def _without_times(value: Any) -> Any:
    """Stock is read anew, so its time is another; and what is stale says so."""
    own = ("as_of", "note")
    return json.loads(json.dumps(value), object_hook=lambda each: {k: v for k, v in each.items() if k not in own})
