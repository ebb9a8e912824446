"""One shop for every implementation of a port. The test bodies do not know which implementation they test."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from session.resilience.deadline import Deadline
from tests.stack.fixtures import opensearch_url, redis_cluster_url, redis_tls_url, redis_url
from tests.support.aws_calls import asked_of_aws
from tests.support.catalogs import (
    catalog,
    catalog_cache,
    catalog_file,
    catalog_source,
    local_embedder,
    opensearch_catalog,
    records,
    standby_bundle,
    titles,
)
from tests.support.dynamodb import dynamodb_address, dynamodb_shop, dynamodb_url
from tests.support.valkey import redis, valkey
from tools.store.backends.dynamodb.store import DynamoStore
from tools.store.backends.embedded.stock_and_orders import EmbeddedStore
from tools.store.models import Campaign, Offer, Order, OrderLine, Shipment, TrackingEvent, VolumeStock
from tools.store.ports import OrdersPort, StockPort

__all__ = [
    "asked_of_aws",
    "catalog",
    "catalog_cache",
    "catalog_file",
    "catalog_source",
    "dynamodb_address",
    "dynamodb_shop",
    "dynamodb_url",
    "local_embedder",
    "opensearch_catalog",
    "opensearch_url",
    "records",
    "redis",
    "redis_cluster_url",
    "redis_tls_url",
    "redis_url",
    "standby_bundle",
    "titles",
    "valkey",
]

BACKENDS = ["embedded", "dynamodb"]


StoreBackend = EmbeddedStore | DynamoStore
"""A backend keeps stock and orders, so that one opening serves both suites."""


@dataclass(frozen=True)
class Shop:
    """What is put into a backend before the tests ask it."""

    offers: dict[str, tuple[Offer, ...]] = field(default_factory=dict)
    volumes: dict[str, tuple[VolumeStock, ...]] = field(default_factory=dict)
    orders: tuple[tuple[str, Order], ...] = ()

    def orders_of(self, owner: str) -> dict[str, Order]:
        return {order.order_id: order for of, order in self.orders if of == owner}


@pytest.fixture(scope="session")
def shop() -> Shop:
    by_offer = {f"manga-{n:06}": (Offer("digital", 400 + n, None), Offer("physical", 500, n)) for n in range(1, 101)}
    return Shop(
        offers={
            **by_offer,
            "manga-000200": (Offer("digital", 473, None),),
            "manga-000201": (),
            "manga-000202": (Offer("digital", 0, None),),
            "manga-000203": (),
            "manga-000204": (
                Offer("digital", 300, None, 480, Campaign("2026-12-15", "2026-11-15", "Fair")),
                Offer("set", 5_280, 2, 5_000),
                Offer("used_set", 2_400, 1),
            ),
            "manga-000300": (),
        },
        volumes={
            "manga-000200": (
                VolumeStock(1, "9784000000116", "physical", 528, 7),
                VolumeStock(2, "9784000000215", "physical", 528, 0, restock_date="2026-12-01"),
                VolumeStock(3, "9784000000314", "physical", 528, 0, release_date="2027-01-04"),
            ),
            "manga-000203": tuple(VolumeStock(n, None, "digital", 0 if n == 1 else 450 + n, 9) for n in (1, 2, 3)),
            "manga-000201": tuple(VolumeStock(n, None, "physical", 550, n % 3) for n in range(1, 111)),
        },
        orders=_orders(),
    )


@pytest.fixture
def soon() -> Deadline:
    """Far enough away for any backend that works."""
    return Deadline.after(30)


@pytest.fixture(params=BACKENDS)
async def store(request: pytest.FixtureRequest, shop: Shop, tmp_path: Path) -> AsyncIterator[StoreBackend]:
    async with _opened(request, shop, tmp_path) as opened:
        yield opened


@pytest.fixture
def stock_port(store: StoreBackend) -> StockPort:
    return store.stock if isinstance(store, DynamoStore) else store


@pytest.fixture
def orders_port(store: StoreBackend) -> OrdersPort:
    return store.orders if isinstance(store, DynamoStore) else store


def _opened(request: pytest.FixtureRequest, shop: Shop, folder: Path) -> AbstractAsyncContextManager[StoreBackend]:
    if request.param == "embedded":
        return _embedded(shop, folder)
    return DynamoStore.open(request.getfixturevalue("dynamodb_shop"))


def _embedded(shop: Shop, folder: Path) -> AbstractAsyncContextManager[EmbeddedStore]:
    volumes = [{"title_id": of, **asdict(volume)} for of, group in shop.volumes.items() for volume in group]
    orders = [{"owner": owner, **asdict(order)} for owner, order in shop.orders]
    return EmbeddedStore.open(
        shop.offers.items(), _file(folder / "volumes.jsonl", volumes), _file(folder / "orders.jsonl", orders)
    )


def _file(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def _orders() -> tuple[tuple[str, Order], ...]:
    """Owners are chosen so that a key that is cut, folded, normalised or joined would mix two of them up."""
    return (
        ("reader-1", _order("MNG-AAAA0001", "2026-10-01T00:00:00Z", "manga-000001", "manga-000002")),
        ("reader-1", _order("MNG-AAAA0002", "2026-10-03T00:00:00Z", "manga-000003", "manga-000001")),
        ("reader-1", _order("MNG-AAAA0003", "2026-10-04T00:00:00Z", "manga-000004", status="cancelled")),
        ("reader-1", _order("MNG-AAAA0004", "2026-10-05T00:00:00Z", "manga-000005", status="returned")),
        ("reader-1", _order("MNG-AAAA0005", "2026-10-06T00:00:00Z", "manga-000002", status="cancelled")),
        ("reader-2", _order("MNG-BBBB0001", "2026-10-02T00:00:00Z", "manga-000009")),
        ("読者・太郎 🐟", _order("MNG-CCCC0001", "2026-10-02T00:00:00Z", "manga-000010")),
        ("r" * 255, _order("MNG-DDDD0001", "2026-10-02T00:00:00Z", "manga-000011")),
        ("caf\u00e9", _order("MNG-EEEE0001", "2026-10-02T00:00:00Z", "manga-000012")),
        ("cafe\u0301", _order("MNG-EEEE0002", "2026-10-02T00:00:00Z", "manga-000013")),
    )


def _order(order_id: str, ordered_at: str, *title_ids: str, status: str = "shipped") -> Order:
    lines = tuple(
        OrderLine(title_id, f"Title {title_id}", 1, None, "physical", 2, 500, "stock", None, "123456789014")
        for title_id in title_ids
    )
    scan = TrackingEvent("delivered", "2026-10-08T01:00:00Z", "東京都", "配達完了")
    parcel = Shipment("yamato", "takkyubin", "123456789014", "delivered", ordered_at, scan.at, (scan,), status_ja="配達完了")
    subtotal = 1000 * len(lines)
    return Order(
        order_id, status, ordered_at, lines, subtotal, 680, subtotal + 680, "Tokyo", (parcel,), "2026-10-08", "note"
    )
