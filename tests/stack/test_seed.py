"""The seed command against real servers: filled once, twice, half and anew; and the server on what it has filled."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from server.config.settings import DEMO
from tests.stack.seeding import BOUND_SECONDS, TITLES, Destination, demo_of, wait_until
from tests.support.serving import ROOT, clean_environment, served, wait_for_meaning
from tests.support.stack import seeded

pytestmark = pytest.mark.timeout(300)


def test_a_dry_run_says_what_would_happen_and_changes_nothing(target: Destination) -> None:
    """With nothing there yet: no index, no table, and the numbers that a load then has."""
    said = target.seed("--dry-run")
    assert f"table {target.name}-stock would be created: {TITLES} new and 0 changed items would be written" in said
    assert f"{TITLES} titles would be written" in said
    assert said.splitlines()[-1].startswith("nothing was changed")
    assert (target.indices(), target.table_names()) == ({}, [])


def test_the_demo_catalogue_is_loaded_once_however_often_it_is_seeded(target: Destination) -> None:
    """The second run finds everything there: same index, not one document indexed more, no item written."""
    first = target.seed()
    assert target.titles() == TITLES
    orders = (DEMO / "orders.jsonl").read_text("utf-8").splitlines()
    assert [len(target.items(table)) for table in ("titles", "stock", "orders")] == [TITLES + 1, TITLES, len(orders)], (
        "and the list of popular titles"
    )
    dated = [line for line in (DEMO / "volumes.jsonl").read_text("utf-8").splitlines() if '"release_date"' in line]
    assert len(target.items("releases")) == len(dated)
    assert f"{target.name}-profile created" in first
    before = target.indices()

    second = target.seed()
    assert target.indices() == before
    assert list(before) == target.serving()
    assert f"serves these {TITLES} titles already: nothing to do" in second
    assert f"0 new and 0 changed items written, {TITLES} unchanged" in second
    assert second.splitlines()[-1].startswith("nothing to do")


@pytest.mark.slow  # several seeds
def test_only_what_is_missing_or_differs_is_written_to_the_tables(target: Destination) -> None:
    """As after a kill in the middle, and after a day of sales; what others keep in an item is theirs."""
    target.seed(MANGA_CATALOG_URL="embedded:")
    stock = target.items("stock")
    table = f"{target.name}-stock"
    for item in stock[:100]:
        target.tables.delete_item(TableName=table, Key={"title_id": item["title_id"]})
    target.tables.put_item(TableName=table, Item={**stock[100], "volumes": {"M": {}}})
    target.tables.put_item(TableName=table, Item={**stock[101], "counted_by": {"S": "the warehouse"}})
    would = target.seed("--dry-run", MANGA_CATALOG_URL="embedded:")
    assert f"100 new and 1 changed items would be written, {TITLES - 101} unchanged" in would

    assert f"100 new and 1 changed items written, {TITLES - 101} unchanged" in target.seed(MANGA_CATALOG_URL="embedded:")
    now = {item["title_id"]["S"]: item for item in target.items("stock")}
    assert now.pop(stock[101]["title_id"]["S"])["counted_by"] == {"S": "the warehouse"}
    assert now == {item["title_id"]["S"]: item for item in stock if item is not stock[101]}


def test_a_load_that_was_killed_goes_on_where_it_stopped(target: Destination, tmp_path: Path) -> None:
    """SIGKILL once some titles are in the index: nothing is in service yet, and the next run writes only the others."""
    settings = {**target.settings, "MANGA_EMBEDDER": "local", "MANGA_STORE_URL": "embedded:"}
    command = [sys.executable, "-m", "infra.seed"]
    environment = clean_environment(tmp_path, settings)
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            wait_until(lambda: process.poll() is not None or sum(target.indices().values()) > 0, "a title in the index")
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
        finally:
            process.send_signal(signal.SIGKILL)
    assert target.serving() == []
    (name,) = target.indices()

    said = target.seed(MANGA_EMBEDDER="local", MANGA_STORE_URL="embedded:")
    assert f"index {name} goes on at " in said
    there = int(said.partition("goes on at ")[2].partition(":")[0])
    assert 0 < there < TITLES
    assert f"{TITLES - there} titles written" in said
    assert (target.serving(), target.titles()) == ([name], TITLES)


def test_a_new_catalogue_takes_over_and_only_the_previous_one_is_kept_for_rollback(
    target: Destination, tmp_path: Path
) -> None:
    """One step of the alias; the one before the last is removed."""
    only_titles = {"MANGA_STORE_URL": "embedded:"}
    generations = []
    for titles in (5, 6, 7):
        said = target.seed("--catalog", str(demo_of(tmp_path / f"{titles}.jsonl", titles)), **only_titles)
        generations += target.serving()
        assert target.titles() == titles
        assert len(generations) == len(set(generations))
    assert f"instead of {generations[1]}" in said
    assert sorted(target.indices()) == sorted(generations[1:])


def test_a_table_with_other_keys_stops_the_load_before_anything_is_changed(target: Destination) -> None:
    """One line with the table's name and what to do; no other table, no index."""
    target.tables.create_table(
        TableName=f"{target.name}-orders",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "order_id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "order_id", "KeyType": "HASH"}],
    )
    done = seeded(target.settings)
    assert done.returncode == 1
    assert f"{target.name}-orders: has other keys than it should; remove it" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (target.table_names(), target.indices()) == ([f"{target.name}-orders"], {})


def test_a_cluster_that_is_away_stops_the_load_before_tables_are_made(target: Destination) -> None:
    """All that can be known beforehand is asked first."""
    done = seeded({**target.settings, "MANGA_CATALOG_URL": "http://127.0.0.1:1"})
    assert done.returncode == 1
    assert "connection refused" in done.stderr
    assert target.table_names() == []


def test_an_index_that_has_the_name_of_the_alias_is_left_alone(target: Destination) -> None:
    """Somebody else's index is not removed to make room."""
    httpx.put(f"{target.node}/{target.name}/_doc/1?refresh=true", json={"whose": "somebody's"}, timeout=30)
    try:
        done = seeded({**target.settings, "MANGA_STORE_URL": "embedded:"})
        assert done.returncode == 1
        assert "is an index, and has to be an alias" in done.stderr
        assert httpx.get(f"{target.node}/{target.name}/_doc/1", timeout=10).json()["_source"] == {"whose": "somebody's"}
    finally:
        httpx.delete(f"{target.node}/{target.name}", timeout=30)


def test_the_smoke_test_passes_on_real_servers(target: Destination, redis_url: str, tmp_path: Path) -> None:
    """The five tools, by curl, on OpenSearch, DynamoDB and Redis as the seed command filled them."""
    settings = {**target.settings, "MANGA_EMBEDDER": "local"}
    target.seed(MANGA_EMBEDDER="local")
    with served(tmp_path / "server", tmp_path / "cache", **settings, MANGA_REDIS_URL=redis_url) as serving:
        wait_for_meaning(serving)
        done = subprocess.run(
            ["sh", "infra/smoke.sh", serving.url], cwd=ROOT, capture_output=True, text=True, timeout=BOUND_SECONDS
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all well\n")
