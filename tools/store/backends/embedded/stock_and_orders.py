"""Titles and releases in memory, and stock and orders in a SQLite database filled from files.

Queries run on the event loop: a read takes 9 µs for a title with offers and 0.2 ms for a title with 110 volumes. A worker
thread would contend with the loop for the GIL at every row: reading 20 titles of 110 volumes took 68 ms there and takes 4.7
ms here. `availability` yields every `_SLICE_S`, so that it blocks the loop for at most 1.1 ms."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from session.profile import format_moment
from session.resilience.clocks import Now, utc_now
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.currency import YEN, Currency
from tools.store.failures import DependencyFailure, TimedOut
from tools.store.identifiers import IdPattern
from tools.store.models import (
    Availability,
    AvailabilityPage,
    Health,
    Offer,
    Order,
    Ordering,
    OrderLine,
    Release,
    Title,
    VolumeStock,
)
from tools.store.models.offer import offer_of
from tools.store.models.order import NOT_BOUGHT
from tools.store.ports import MOST_BOUGHT, MOST_RELEASES
from tools.store.records.store_files import read_orders, read_volumes
from tools.store.search.ranking.candidates import in_order
from tools.store.shape import decode_json


class EmbeddedReleases:
    """A `ReleasesPort` over releases in memory."""

    def __init__(self, releases: Iterable[Release]) -> None:
        months: dict[str, list[Release]] = defaultdict(list)
        for release in sorted(releases, key=lambda each: each.place):
            months[release.month].append(release)
        self._months = {month: tuple(listed[:MOST_RELEASES]) for month, listed in months.items()}

    async def of_month(self, month: str, deadline: Deadline) -> tuple[Release, ...]:
        _require_time(deadline, "releases")
        return self._months.get(month, ())

    async def health(self, deadline: Deadline) -> Health:
        return Health(ok=True, detail="in this process")


class EmbeddedTitles:
    """A `TitlesPort` over titles in memory."""

    def __init__(self, titles: Iterable[Title]) -> None:
        self._titles = {title.title_id: title for title in titles}

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        _require_time(deadline, "titles")
        return {title_id: self._titles[title_id] for title_id in title_ids if title_id in self._titles}

    async def popular(self, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """Returns the `limit` most popular titles. Sorts on a worker thread, since thousands of titles take milliseconds."""
        return (await asyncio.to_thread(in_order, list(self._titles.values()), Ordering.POPULARITY))[:limit]

    async def health(self, deadline: Deadline) -> Health:
        return Health(ok=True, detail="in this process")


TABLES = """
CREATE TABLE stock (title_id TEXT PRIMARY KEY, offers TEXT NOT NULL, volumes TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE orders (
    owner TEXT NOT NULL, order_id TEXT NOT NULL, ordered_at TEXT NOT NULL, document TEXT NOT NULL,
    PRIMARY KEY (owner, order_id)
) WITHOUT ROWID;
CREATE INDEX orders_by_time ON orders (owner, ordered_at, order_id);
"""
"""The schema. Offers, volumes and documents are JSON of the models."""


def _fill(
    db: sqlite3.Connection,
    offers: Mapping[str, tuple[Offer, ...]],
    volumes: Sequence[tuple[str, VolumeStock]],
    orders: Iterable[tuple[str, Order]],
) -> None:
    """Creates the tables, fills them in one transaction and makes the connection read-only. If a title has volumes in a
    format, an offer computed from the volumes replaces the catalogue's offer."""
    by_title: dict[str, list[VolumeStock]] = defaultdict(list)
    for title_id, volume in volumes:
        by_title[title_id].append(volume)
    db.executescript(TABLES)
    with db:
        for title_id, offered in offers.items():
            own = by_title[title_id]
            counted = [offer_of(each, [v for v in own if v.format == each]) for each in dict.fromkeys(v.format for v in own)]
            others = [offer for offer in offered if offer.format not in {each.format for each in counted}]
            own.sort(key=lambda volume: (volume.format, volume.volume))
            db.execute("INSERT INTO stock VALUES (?, ?, ?)", (title_id, _json([*counted, *others]), _json(own)))
        of_orders = ((owner, each.order_id, each.ordered_at, _json(each)) for owner, each in orders)
        db.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", of_orders)
    db.execute("PRAGMA query_only = ON")


def _json(value: object) -> str:
    return to_json(value).decode()


_SLICE_S = 0.0003
"""Seconds of reading after which a call yields to the event loop, once it has finished the current title."""


class EmbeddedStore:
    """A `StockPort` and an `OrdersPort` over one read-only database."""

    def __init__(self, db: sqlite3.Connection, clock: Now = utc_now) -> None:
        self._db = db
        self._clock = clock
        # Rows never change while the store is open, and decoding volumes is most of a read. 15 volumes take 2 KB.
        self._sold: Lru[str, tuple[tuple[Offer, ...], tuple[VolumeStock, ...]]] = Lru(1_000)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        offers: Iterable[tuple[str, tuple[Offer, ...]]],
        volumes_file: Path | None = None,
        orders_file: Path | None = None,
        numbers: IdPattern | None = None,
        currency: Currency = YEN,
        *,
        clock: Now = utc_now,
    ) -> AsyncIterator[EmbeddedStore]:
        """Opens, for the block, a store filled from the files; a file of None adds nothing. Raises StoreFileError for an
        invalid line, and for volumes of a title that is not in the catalogue. `offers` has every title id of the catalogue
        once, with its offers. `numbers` is the pattern of the shop's order ids, `currency` that of the files."""
        db = await asyncio.to_thread(_load, offers, volumes_file, orders_file, numbers, currency)
        with closing(db):
            yield cls(db, clock)

    @classmethod
    def of_file(cls, path: Path) -> EmbeddedStore:
        """Opens a file made by `write_store`, memory-mapped so that processes share it. The caller closes the store."""
        db = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        db.execute(f"PRAGMA mmap_size = {path.stat().st_size}")
        return cls(db)

    def close(self) -> None:
        self._db.close()

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        """Returns the stock of the titles that are sold. Titles not read by the deadline are `unanswered`; raises TimedOut
        if the deadline has already passed."""
        _require_time(deadline, "stock")
        as_of = format_moment(self._clock())
        rows: dict[str, Availability] = {}
        wanted = tuple(dict.fromkeys(title_ids))
        since = time.perf_counter()
        for position, title_id in enumerate(wanted):
            if position and deadline.expired():
                return AvailabilityPage(rows, wanted[position:])
            row = self._row(title_id, as_of)
            if row.offers:
                rows[title_id] = row
            if time.perf_counter() - since > _SLICE_S:
                await asyncio.sleep(0)
                since = time.perf_counter()
        return AvailabilityPage(rows)

    async def order(self, owner: str, order_id: str, deadline: Deadline) -> Order | None:
        """Returns the owner's order; None if there is none. Another owner's order is never found, since the owner is part of
        the key."""
        _require_time(deadline, "orders")
        found = self._read("orders", _ORDER, owner, order_id)
        return decode_json(Order, found[0][0]) if found else None

    async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
        _require_time(deadline, "orders")
        orders = []
        for (document,) in self._read("orders", _LATEST, owner, limit):
            orders.append(decode_json(Order, document))
            await asyncio.sleep(0)  # yields, since an order can have a hundred lines
        return tuple(orders)

    async def purchased(self, owner: str, deadline: Deadline) -> tuple[str, ...]:
        """Returns the ids of titles in orders neither cancelled nor returned, latest purchase first, equal times by id."""
        _require_time(deadline, "orders")
        return tuple(title_id for (title_id,) in self._read("orders", _PURCHASED, owner))

    async def bought(self, owner: str, title_id: str, deadline: Deadline) -> tuple[OrderLine, ...]:
        _require_time(deadline, "orders")
        found = self._read("orders", _BOUGHT, owner, title_id, MOST_BOUGHT)
        orders = [decode_json(Order, document) for (document,) in found]
        return tuple(line for order in orders for line in order.lines if line.title_id == title_id)

    def dated_volumes(self) -> list[tuple[str, VolumeStock]]:
        listed = ((title_id, _volumes(volumes)) for title_id, volumes in self._read("stock", _ALL_VOLUMES))
        return [(title_id, each) for title_id, volumes in listed for each in volumes if each.release_date is not None]

    async def health(self, deadline: Deadline) -> Health:
        _require_time(deadline, "stock")
        self._read("stock", "SELECT 1")
        return Health(ok=True, detail="in this process")

    def _row(self, title_id: str, as_of: str) -> Availability:
        sold = self._sold.use(title_id)
        if sold is None:
            found = self._read("stock", _STOCK, title_id)
            offers, volumes = found[0] if found else ("[]", "[]")
            sold = decode_json(tuple[Offer, ...], offers), _volumes(volumes)
            self._sold.put(title_id, sold)
        return Availability(title_id, *sold, as_of)

    def _read(self, dependency: str, sql: str, *keys: str | int) -> list[Any]:
        """Returns all rows at once, so that no cursor stays open. Raises DependencyFailure for SQLite's errors."""
        try:
            return self._db.execute(sql, keys).fetchall()
        except UnicodeEncodeError:  # a lone surrogate, which no key has
            return []
        except sqlite3.Error as error:
            raise DependencyFailure("The store's records cannot be read now.", dependency=dependency) from error


def _volumes(document: str) -> tuple[VolumeStock, ...]:
    return decode_json(tuple[VolumeStock, ...], document)


_STOCK = "SELECT offers, volumes FROM stock WHERE title_id = ?"
_ALL_VOLUMES = "SELECT title_id, volumes FROM stock WHERE volumes LIKE '%release_date\":\"%'"
_ORDER = "SELECT document FROM orders WHERE owner = ? AND order_id = ?"
_LATEST = "SELECT document FROM orders WHERE owner = ? ORDER BY ordered_at DESC, order_id DESC LIMIT ?"
_IS_BOUGHT = f"json_extract(document, '$.status') NOT IN ({', '.join(map(repr, sorted(NOT_BOUGHT)))})"
_BOUGHT = (
    "SELECT document FROM orders WHERE owner = ?"  # noqa: S608
    " AND EXISTS (SELECT 1 FROM json_each(document, '$.lines') AS line WHERE json_extract(line.value, '$.title_id') = ?)"
    f" AND {_IS_BOUGHT} ORDER BY ordered_at DESC, order_id DESC LIMIT ?"
)
_PURCHASED = (
    "SELECT json_extract(line.value, '$.title_id') AS title_id"  # noqa: S608
    " FROM orders, json_each(document, '$.lines') AS line"
    f" WHERE owner = ? AND {_IS_BOUGHT} GROUP BY title_id ORDER BY max(ordered_at) DESC, title_id"
)


def write_store(path: Path, offers: Iterable[tuple[str, tuple[Offer, ...]]], *files: Any) -> None:
    """Writes a new file for `EmbeddedStore.of_file`. `files` are the arguments of `EmbeddedStore.open` after `offers`.
    Raises StoreFileError. Blocking."""
    _load(offers, *files, database=str(path)).close()


def _load(
    offers: Iterable[tuple[str, tuple[Offer, ...]]],
    volumes_file: Path | None = None,
    orders_file: Path | None = None,
    numbers: IdPattern | None = None,
    currency: Currency = YEN,
    *,
    database: str = ":memory:",
) -> sqlite3.Connection:
    """Returns a filled database; arguments and errors are those of `EmbeddedStore.open`. Checks the input files before it
    creates the database, so that an invalid line leaves no `database` file behind."""
    catalogue = dict(offers)
    volumes = read_volumes(volumes_file, catalogue, currency) if volumes_file else []
    orders = read_orders(orders_file, numbers, currency) if orders_file else []
    db = sqlite3.connect(database, check_same_thread=False)
    try:
        _fill(db, catalogue, volumes, orders)
    except BaseException:
        db.close()
        raise
    return db


def _require_time(deadline: Deadline, dependency: str) -> None:
    if deadline.expired():
        raise TimedOut(f"The {dependency} did not answer in time.", dependency=dependency)
