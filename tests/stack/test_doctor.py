"""Doctor on real servers, each fault really made."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from infra.seed.store import create_tables
from server.config.settings import DEMO
from tests.stack.dynamodb import KEYS, REGION
from tests.stack.examined import Doctor
from tests.support.stack import seeded
from tools.store.backends.dynamodb.tables import DynamoAddress
from tools.store.backends.opensearch.definition import FORMAT, Identity, creation, definition
from tools.store.currency import Currency
from tools.store.identifiers import IdPattern

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def name() -> str:
    return f"doctor{uuid.uuid4().hex[:8]}"


@pytest.fixture
def node(opensearch_url: str, name: str) -> Iterator[str]:
    """The shared node, without this test's indices afterwards."""
    yield opensearch_url
    for index in httpx.get(f"{opensearch_url}/_alias", timeout=10).json():
        if index.startswith(name):
            httpx.delete(f"{opensearch_url}/{index}", timeout=30)


@pytest.fixture
def tables(dynamodb_endpoint: str, name: str) -> Iterator[Any]:
    client = boto3.client("dynamodb", region_name=REGION, endpoint_url=dynamodb_endpoint, **KEYS)
    yield client
    for table in client.list_tables(ExclusiveStartTableName=name)["TableNames"]:
        if table.startswith(name):
            client.delete_table(TableName=table)


def store_url(endpoint: str, name: str) -> str:
    return f"dynamodb://{REGION}?endpoint={endpoint}&table_prefix={name}-"


def small_catalog(folder: Path) -> Path:
    path = folder / "catalog.jsonl"
    path.write_text('{"title_id": "manga-000001", "title": {"en": "One"}}\n', "utf-8")
    return path


def identity(dimensions: int = 0, **fields: Any) -> Identity:
    """Of an index that this server would make of nothing."""
    usual = {
        "format": FORMAT,
        "definition": definition(dimensions, serverless=False),
        "embedder": None,
        "titles": 0,
        "content": "0",
    }
    return Identity(dimensions=dimensions, **{**usual, **fields})


def index_made_by(node: str, alias: str, identity: Identity, **settings: str) -> None:
    """An empty index as the seed command would make it, with the alias before it."""
    body = creation(identity, serverless=False) | {"aliases": {alias: {}}}
    body["settings"]["index"] |= settings
    # An index that cannot be put anywhere would be waited for.
    params = {"wait_for_active_shards": "0" if settings else "1"}
    made = httpx.put(f"{node}/{alias}-{identity.fingerprint}", params=params, json=body, timeout=30)
    assert made.status_code == 200, made.text


async def test_all_is_well_after_a_seed(
    node: str, tables: Any, dynamodb_endpoint: str, redis_url: str, name: str, tmp_path: Path, doctor: Doctor
) -> None:
    """With versions, counts, and addresses that show where each is."""
    catalog, store = f"{node}/?alias={name}", store_url(dynamodb_endpoint, name)
    done = seeded({"MANGA_CATALOG_URL": catalog, "MANGA_STORE_URL": store}, "--catalog", str(small_catalog(tmp_path)))
    assert done.returncode == 0, done.stderr
    found = await doctor(catalog_url=catalog, store_url=store, redis_url=redis_url, embedder="local")
    assert {each["state"] for each in found.values()} == {"ok"}, found
    assert found["catalog"]["version"].startswith("OpenSearch 3.")
    assert f"1 titles in {name}-" in found["catalog"]["detail"]
    assert found["stock"]["detail"].startswith(f"table {name}-stock, 1 items")
    assert found["redis"]["version"].startswith("Redis ")
    assert found["redis"]["where"] == redis_url.removesuffix("/0")


async def test_a_missing_index_and_missing_tables_ask_for_the_seed_command(
    node: str, dynamodb_endpoint: str, name: str, doctor: Doctor
) -> None:
    """By the names that were looked for."""
    found = await doctor(catalog_url=f"{node}/?alias={name}", store_url=store_url(dynamodb_endpoint, name))
    assert found["catalog"]["detail"] == f"there is no index behind the alias {name}"
    assert found["catalog"]["version"].startswith("OpenSearch")
    assert found["stock"]["detail"] == f"the table {name}-stock is not there"
    assert found["orders"]["detail"] == f"the table {name}-orders is not there"
    assert {found[each]["remedy"] for each in ("catalog", "titles", "stock", "releases", "orders", "profile")} == {
        "run: python -m infra.seed"
    }


async def test_an_embedder_of_other_dimensions_than_the_index_is_told_of(node: str, name: str, doctor: Doctor) -> None:
    """Searches go by words alone then; both are named."""
    index_made_by(node, name, identity(embedder="another-embedder", dimensions=256))
    found = (await doctor(catalog_url=f"{node}/?alias={name}", embedder="local"))["catalog"]
    assert found["state"] == "degraded"
    assert "another-embedder (256 dimensions)" in found["detail"]
    assert "(512)" in found["detail"]
    assert "MANGA_EMBEDDER" in found["remedy"]


async def test_an_index_without_vectors_is_told_of_only_where_an_embedder_is_set(
    node: str, name: str, doctor: Doctor
) -> None:
    """MANGA_EMBEDDER=none wants none."""
    index_made_by(node, name, identity())
    assert (await doctor(catalog_url=f"{node}/?alias={name}"))["catalog"]["state"] == "ok"
    found = (await doctor(catalog_url=f"{node}/?alias={name}", embedder="local"))["catalog"]
    assert (found["state"], "no vectors" in found["detail"]) == ("degraded", True)


async def test_an_index_that_lacks_titles_is_told_of(node: str, name: str, doctor: Doctor) -> None:
    """It knows how many it was made for."""
    index_made_by(node, name, identity(titles=5))
    found = (await doctor(catalog_url=f"{node}/?alias={name}"))["catalog"]
    assert (found["state"], found["detail"]) == ("degraded", "the index has 0 of its 5 titles")


async def test_an_index_of_another_definition_is_told_of(node: str, name: str, doctor: Doctor) -> None:
    """It is searched all the same."""
    index_made_by(node, name, identity(definition="0"))
    found = (await doctor(catalog_url=f"{node}/?alias={name}"))["catalog"]
    assert found["state"] == "degraded"
    assert found["detail"] == "the index was made by another definition than this server's"
    assert found["remedy"] == "run: python -m infra.seed"


async def test_an_index_of_another_version_or_of_somebody_else_is_told_of(node: str, name: str, doctor: Doctor) -> None:
    """Neither is searched."""
    index_made_by(node, name, identity(format="0"))
    old = (await doctor(catalog_url=f"{node}/?alias={name}"))["catalog"]
    assert "another version" in old["detail"]
    assert "infra.seed" in old["remedy"]
    other = f"{name}x"
    httpx.put(f"{node}/{other}-theirs", json={"aliases": {other: {}}}, timeout=30)
    found = (await doctor(catalog_url=f"{node}/?alias={other}"))["catalog"]
    assert "not made by this server" in found["detail"]


async def test_a_red_cluster_is_told_of(node: str, name: str, doctor: Doctor) -> None:
    """An index whose only shard no node may hold."""
    index_made_by(node, name, identity(), **{"routing.allocation.require._name": "a-node-that-is-not-there"})
    found = (await doctor(catalog_url=f"{node}/?alias={name}"))["catalog"]
    assert found["state"] == "down"
    assert found["detail"].startswith("the cluster is red: ")


async def test_a_table_with_other_keys_is_told_of(tables: Any, dynamodb_endpoint: str, name: str, doctor: Doctor) -> None:
    """As serving would meet it: by a refused key."""
    tables.create_table(
        TableName=f"{name}-stock",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "isbn", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "isbn", "KeyType": "HASH"}],
    )
    found = await doctor(store_url=store_url(dynamodb_endpoint, name))
    assert found["stock"]["detail"] == f"the table {name}-stock has other keys than it should"
    assert "table_prefix" in found["stock"]["remedy"]


async def test_a_table_without_its_index_is_told_of(tables: Any, dynamodb_endpoint: str, name: str, doctor: Doctor) -> None:
    """Its keys are right, so an order is found; what somebody bought is not."""
    keys = {"owner": "HASH", "order_id": "RANGE"}
    tables.create_table(
        TableName=f"{name}-orders",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in keys],
        KeySchema=[{"AttributeName": each, "KeyType": kind} for each, kind in keys.items()],
    )
    found = await doctor(store_url=store_url(dynamodb_endpoint, name))
    assert found["orders"]["detail"] == f"the table {name}-orders lacks the index by_time"


async def test_a_profile_table_that_forgets_nothing_is_told_of(
    tables: Any, dynamodb_endpoint: str, name: str, doctor: Doctor
) -> None:
    """It serves, but personal data would stay for good."""
    create_tables(DynamoAddress.parse(store_url(dynamodb_endpoint, name)))
    off = {"Enabled": False, "AttributeName": "expires_at"}
    tables.update_time_to_live(TableName=f"{name}-profile", TimeToLiveSpecification=off)
    found = (await doctor(store_url=store_url(dynamodb_endpoint, name)))["profile"]
    assert (found["state"], found["detail"]) == ("degraded", f"the table {name}-profile never forgets")
    assert "expires_at" in found["remedy"]


async def test_ids_and_a_currency_that_do_not_fit_the_settings_are_told_of(
    node: str, tables: Any, dynamodb_endpoint: str, name: str, tmp_path: Path, doctor: Doctor
) -> None:
    """A yen would be shown as a cent, and each id of the shop be refused."""
    catalog, store = f"{node}/?alias={name}", store_url(dynamodb_endpoint, name)
    record = {"title_id": "manga-000001", "title": {"en": "One"}, "offers": [{"format": "digital", "price_jpy": 700}]}
    (tmp_path / "catalog.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    files = ["--catalog", str(tmp_path / "catalog.jsonl"), "--orders", str(DEMO / "orders.jsonl")]
    done = seeded({"MANGA_CATALOG_URL": catalog, "MANGA_STORE_URL": store}, *files)
    assert done.returncode == 0, done.stderr
    patterns = {"title_pattern": IdPattern("b[0-9]{5}"), "order_pattern": IdPattern(r"KYB-\d{8}")}
    found = await doctor(catalog_url=catalog, store_url=store, currency=Currency("USD"), **patterns)
    assert found["stock"]["detail"] == "the stock of manga-000001 has price_jpy, but MANGA_CURRENCY is USD"
    for part, setting in (("catalog", "TITLE_PATTERN"), ("titles", "TITLE_PATTERN"), ("orders", "ORDER_PATTERN")):
        assert (found[part]["state"], f"MANGA_{setting}" in found[part]["remedy"]) == ("down", True), found[part]
    assert (found["stock"]["state"], "MANGA_CURRENCY" in found["stock"]["remedy"]) == ("down", True)
    found = await doctor(catalog_url=catalog, store_url=store)
    assert {found[part]["state"] for part in ("catalog", "titles", "stock", "orders")} == {"ok"}
