"""The embedded store: stock and orders, from files and from what the catalogue offers."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from session.resilience.deadline import Deadline
from tests.support.store_lines import ORDER, VOLUME
from tools.store.backends.embedded.stock_and_orders import EmbeddedStore
from tools.store.failures import DependencyFailure
from tools.store.models import Offer
from tools.store.records.store_files import StoreFileError

CATALOGUE = {"m-1": (Offer("physical", 500, 1),)}

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A file with one JSON object a line."""

    def file(name: str, *lines: object) -> Path:
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return tmp_path / name

    return file


@pytest.fixture
def soon() -> Deadline:
    return Deadline.after(5)


async def test_volumes_of_an_unknown_title_are_refused(write: Write) -> None:
    path = write("volumes.jsonl", VOLUME, {**VOLUME, "title_id": "m-2"})
    with pytest.raises(StoreFileError, match=r"line 2: .* 'm-2' is not in the catalogue"):
        async with EmbeddedStore.open(CATALOGUE.items(), path):
            pass


async def test_gzipped_files_are_read_like_plain_ones(tmp_path: Path, soon: Deadline) -> None:
    (tmp_path / "volumes.jsonl.gz").write_bytes(gzip.compress(json.dumps(VOLUME).encode()))
    (tmp_path / "orders.jsonl.gz").write_bytes(gzip.compress(json.dumps(ORDER).encode()))
    volumes, orders = tmp_path / "volumes.jsonl.gz", tmp_path / "orders.jsonl.gz"
    async with EmbeddedStore.open(CATALOGUE.items(), volumes, orders) as store:
        assert (await store.availability(["m-1"], soon)).rows["m-1"].volumes[0].stock == 3
        assert await store.purchased("reader", soon) == ("m-1",)


async def test_store_without_files_has_catalogue_offers_and_no_orders(soon: Deadline) -> None:
    async with EmbeddedStore.open(CATALOGUE.items()) as store:
        assert (await store.availability(["m-1"], soon)).rows["m-1"].offers == CATALOGUE["m-1"]
        assert await store.order("reader", "MNG-AAAA0001", soon) is None


async def test_recorded_volumes_override_the_offer_in_their_format(write: Write, soon: Deadline) -> None:
    volumes = write("volumes.jsonl", VOLUME, {**VOLUME, "volume": 2, "price_jpy": 880, "stock": 4})
    catalogue = {"m-1": (Offer("physical", 1, 99), Offer("digital", 473, None))}
    async with EmbeddedStore.open(catalogue.items(), volumes) as store:
        row = (await store.availability(["m-1"], soon)).rows["m-1"]
    assert set(row.offers) == {Offer("physical", 528, 7), Offer("digital", 473, None)}


async def test_offers_keep_the_order_of_the_catalogue(soon: Deadline) -> None:
    offers = (Offer("physical", 528, 1), Offer("digital", 473, None), Offer("physical", 880, 2))
    async with EmbeddedStore.open([("m-1", offers)]) as store:
        assert (await store.availability(["m-1"], soon)).rows["m-1"].offers == offers


async def test_as_of_is_the_clock_in_utc(soon: Deadline) -> None:
    noon_in_japan = datetime(2026, 11, 20, 12, tzinfo=timezone(timedelta(hours=9)))
    async with EmbeddedStore.open(CATALOGUE.items(), clock=lambda: noon_in_japan) as store:
        row = (await store.availability(["m-1"], soon)).rows["m-1"]
    assert row.as_of == "2026-11-20T03:00:00.000Z"


async def test_titles_cut_off_by_the_deadline_are_listed_as_unanswered() -> None:
    """The clock ticks at each reading: once at the start, and once before each title but the first."""
    catalogue = {f"m-{n}": (Offer("physical", 500, n),) for n in range(5)}
    ticks = count()
    async with EmbeddedStore.open(catalogue.items()) as store:
        page = await store.availability([*catalogue], Deadline(at=3, clock=lambda: next(ticks)))
    assert list(page.rows) == ["m-0", "m-1", "m-2"]
    assert page.unanswered == ("m-3", "m-4")


async def test_reading_a_large_page_yields_to_other_tasks(write: Write, soon: Deadline) -> None:
    ids = [f"m-{n}" for n in range(20)]
    lines = [{**VOLUME, "title_id": i, "volume": v} for i in ids for v in range(110)]
    turns = 0
    done = asyncio.Event()

    async def another() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            await asyncio.sleep(0)

    async with EmbeddedStore.open([(i, ()) for i in ids], write("volumes.jsonl", *lines)) as store:
        task = asyncio.create_task(another())
        page = await store.availability(ids, soon)
        done.set()
        await task
    assert sum(len(row.volumes) for row in page.rows.values()) == 2200
    assert turns >= 5


async def test_closed_store_raises_a_dependency_failure_without_driver_text(soon: Deadline) -> None:
    async with EmbeddedStore.open(CATALOGUE.items()) as store:
        pass
    asked: dict[str, list[Coroutine[Any, Any, object]]] = {
        "stock": [store.availability(["m-1"], soon), store.health(soon)],
        "orders": [
            store.order("reader", "MNG-AAAA0001", soon),
            store.purchased("reader", soon),
            store.latest("reader", 10, soon),
        ],
    }
    for dependency, calls in asked.items():
        for call in calls:
            with pytest.raises(DependencyFailure) as caught:
                await call
            assert caught.value.dependency == dependency
            assert "database" not in caught.value.message


async def test_two_stores_share_no_data(write: Write, soon: Deadline) -> None:
    orders = write("orders.jsonl", ORDER)
    async with EmbeddedStore.open(CATALOGUE.items(), orders_file=orders) as one, EmbeddedStore.open([]) as other:
        assert await one.order("reader", "MNG-AAAA0001", soon) is not None
        assert await other.order("reader", "MNG-AAAA0001", soon) is None
        assert (await other.availability(["m-1"], soon)).rows == {}


async def test_default_clock_is_the_wall_clock(soon: Deadline) -> None:
    async with EmbeddedStore.open(CATALOGUE.items()) as store:
        as_of = (await store.availability(["m-1"], soon)).rows["m-1"].as_of
    assert abs(datetime.fromisoformat(as_of) - datetime.now(UTC)) < timedelta(seconds=10)
