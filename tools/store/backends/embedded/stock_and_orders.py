"""Stock and orders in this process: an in-memory SQLite database, filled from files when it is opened.

Queries run on the event loop. They are point reads of an in-memory B-tree: 8 µs for a title with offers, 0.2 ms for
one with 110 volumes (measured, 2 cores, Python 3.11). A worker thread makes that worse, not better: with a busy loop
20 titles of 110 volumes took 68 ms there (p99 600 ms) and held the loop back for up to 28 ms, because thread and loop
contend for the GIL at every row. Here they take 4.7 ms and, yielding every `_SLICE_S`, hold the loop 0.65 ms at p99,
1.1 ms at most; a full collection of the garbage collector, which is the process's affair, comes on top (13 ms).
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import asdict, astuple, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from session.resilience.clocks import Now, utc_now
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.failures import DependencyFailure, TimedOut
from tools.store.identifiers import IdPattern
from tools.store.models import (
    Availability,
    AvailabilityPage,
    Campaign,
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
from tools.store.records.catalog_file import LineProblem
from tools.store.records.shape import decode_json
from tools.store.records.store_files import StoreFileError, read_orders, read_volumes
from tools.store.search.ranking.orderings import in_order


class EmbeddedReleases:
    """`tools.store.ports.ReleasesPort` over lists of months, put in order once."""

    def __init__(self, releases: Iterable[Release]) -> None:
        months: dict[str, list[Release]] = defaultdict(list)
        for release in sorted(releases, key=lambda each: each.place):
            months[release.month].append(release)
        self._months = {month: tuple(listed[:MOST_RELEASES]) for month, listed in months.items()}

    async def of_month(self, month: str, deadline: Deadline) -> tuple[Release, ...]:
        if deadline.expired():
            raise TimedOut("The releases did not answer in time.", dependency="releases")
        return self._months.get(month, ())

    async def health(self, deadline: Deadline) -> Health:
        """Always well."""
        return Health(ok=True, detail="in this process")


class EmbeddedTitles:
    """`tools.store.ports.TitlesPort` over titles that are in memory anyway, or were read of the catalogue's file for it."""

    def __init__(self, titles: Iterable[Title]) -> None:
        self._titles = {title.title_id: title for title in titles}

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        if deadline.expired():
            raise TimedOut("The titles did not answer in time.", dependency="titles")
        return {title_id: self._titles[title_id] for title_id in title_ids if title_id in self._titles}

    async def popular(self, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """On a thread: it takes milliseconds for thousands of titles."""
        return (await asyncio.to_thread(in_order, list(self._titles.values()), Ordering.POPULARITY))[:limit]

    async def health(self, deadline: Deadline) -> Health:
        """Always well."""
        return Health(ok=True, detail="in this process")


OFFER_COLUMNS = tuple(field.name for field in fields(Offer))
VOLUME_COLUMNS = tuple(field.name for field in fields(VolumeStock))
"""A column a field, so that a row is one."""
TABLES = f"""
CREATE TABLE offers (
    title_id TEXT NOT NULL, place INTEGER NOT NULL, {", ".join(OFFER_COLUMNS)},
    PRIMARY KEY (title_id, place)
) WITHOUT ROWID;
CREATE TABLE volumes (
    title_id TEXT NOT NULL, {", ".join(VOLUME_COLUMNS)},
    PRIMARY KEY (title_id, format, volume)
) WITHOUT ROWID;
CREATE TABLE orders (
    owner TEXT NOT NULL, order_id TEXT NOT NULL, ordered_at TEXT NOT NULL, document TEXT NOT NULL,
    PRIMARY KEY (owner, order_id)
) WITHOUT ROWID;
CREATE INDEX orders_by_time ON orders (owner, ordered_at, order_id);
CREATE TABLE purchases (
    owner TEXT NOT NULL, title_id TEXT NOT NULL, last_at TEXT NOT NULL,
    PRIMARY KEY (owner, title_id)
) WITHOUT ROWID;
"""
"""The database keeps offers and volumes as they were read: their types and limits are the model's. A campaign is JSON."""


class Contents(NamedTuple):
    """All that a store holds, read and checked before a table is touched."""

    offers: Iterable[tuple[str, tuple[Offer, ...]]]
    volumes: Sequence[tuple[str, VolumeStock]]
    orders: Sequence[tuple[str, Order]]


def fill(db: sqlite3.Connection, contents: Contents) -> None:
    """Creates the tables and loads everything in one transaction; afterwards the connection refuses writes."""
    db.executescript(TABLES)
    with db:
        _insert_offers(db, contents)
        _insert_volumes(db, contents.volumes)
        for owner, order in contents.orders:
            _insert_order(db, owner, order)
    db.execute("PRAGMA query_only = ON")


def _insert_offers(db: sqlite3.Connection, contents: Contents) -> None:
    """A title counted by volume has one truth: the catalogue's offers in those formats give way to the volumes."""
    counted = _offers_of_volumes(contents.volumes)
    nothing: dict[str, Offer] = {}
    rows = (
        (title_id, place, *_offer_row(offer))
        for title_id, offered in contents.offers
        for place, offer in enumerate(_agreed(offered, counted.get(title_id, nothing)))
    )
    db.executemany(_insertion("offers", 2 + len(OFFER_COLUMNS)), rows)


def offer_from(row: Sequence[Any]) -> Offer:
    """The offer of a row of `OFFER_COLUMNS`."""
    *plain, campaign = row
    offer = Offer(*plain)
    return offer if campaign is None else replace(offer, campaign=Campaign(**json.loads(campaign)))


def _offer_row(offer: Offer) -> tuple[Any, ...]:
    *plain, campaign = (getattr(offer, name) for name in OFFER_COLUMNS)
    return (*plain, None if campaign is None else json.dumps(asdict(campaign)))


def _offers_of_volumes(volumes: Iterable[tuple[str, VolumeStock]]) -> dict[str, dict[str, Offer]]:
    """Title id to format to offer: what one volume costs, and all copies."""
    counted: dict[str, dict[str, list[VolumeStock]]] = {}
    for title_id, volume in volumes:
        counted.setdefault(title_id, {}).setdefault(volume.format, []).append(volume)
    return {
        title_id: {name: offer_of(name, group) for name, group in formats.items()} for title_id, formats in counted.items()
    }


def _agreed(offered: Iterable[Offer], counted: Mapping[str, Offer]) -> list[Offer]:
    return [*counted.values(), *(offer for offer in offered if offer.format not in counted)]


def _insert_volumes(db: sqlite3.Connection, volumes: Iterable[tuple[str, VolumeStock]]) -> None:
    rows = ((title_id, *astuple(volume)) for title_id, volume in volumes)
    db.executemany(_insertion("volumes", 1 + len(VOLUME_COLUMNS)), rows)


def _insertion(table: str, columns: int) -> str:
    return f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})"  # noqa: S608


def _insert_order(db: sqlite3.Connection, owner: str, order: Order) -> None:
    document = json.dumps(asdict(order), ensure_ascii=False)
    row = (owner, order.order_id, order.ordered_at, document)
    db.execute("INSERT INTO orders (owner, order_id, ordered_at, document) VALUES (?, ?, ?, ?)", row)
    if order.status in NOT_BOUGHT:
        return
    db.executemany(
        "INSERT INTO purchases (owner, title_id, last_at) VALUES (?, ?, ?)"
        " ON CONFLICT (owner, title_id) DO UPDATE SET last_at = max(last_at, excluded.last_at)",
        [(owner, line.title_id, order.ordered_at) for line in order.lines],
    )


_SLICE_S = 0.0003
"""How long one call may keep the event loop before others have a turn; one title more can be on top of it."""


MOST_ROWS = 1_000
"""Titles whose rows are at hand: 2 KB each with fifteen volumes."""


class EmbeddedStore:
    """`tools.store.ports.StockPort` and `tools.store.ports.OrdersPort` over one database. Read-only once it is open."""

    def __init__(self, db: sqlite3.Connection, clock: Now = utc_now) -> None:
        self._db = db
        self._clock = clock
        # Nothing changes while it is open: to make a row's volumes again takes most of its time.
        self._sold: Lru[str, tuple[tuple[Offer, ...], tuple[VolumeStock, ...]]] = Lru(MOST_ROWS)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        offers: Iterable[tuple[str, tuple[Offer, ...]]],
        volumes_file: Path | None = None,
        orders_file: Path | None = None,
        numbers: IdPattern | None = None,
        *,
        clock: Now = utc_now,
    ) -> AsyncIterator[EmbeddedStore]:
        """The store, filled, until the block ends. `offers` are the catalogue's: every title id once, with its offers;
        `numbers` is the pattern of the shop's orders.

        Raises StoreFileError for a line that cannot be used and for volumes of a title the catalogue does not have.
        """
        db = await asyncio.to_thread(_load, offers, volumes_file, orders_file, numbers)
        with closing(db):
            yield cls(db, clock)

    @classmethod
    def of_file(cls, path: Path, *, clock: Now = utc_now) -> EmbeddedStore:
        """The store that `write_store` has put there, mapped: processes share it. Close it."""
        db = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        db.execute(f"PRAGMA mmap_size = {path.stat().st_size}")
        return cls(db, clock)

    def close(self) -> None:
        self._db.close()

    async def availability(self, title_ids: Sequence[str], deadline: Deadline) -> AvailabilityPage:
        """Offers and volumes of the titles that are sold here. Past the deadline the rest is `unanswered`; TimedOut
        when nothing was read yet."""
        _in_time(deadline, "stock")
        as_of = _iso(self._clock())
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
        """One read by (owner, order id): another's order is as absent as one that never was."""
        _in_time(deadline, "orders")
        found = self._read("orders", _ORDER, owner, order_id)
        return decode_json(Order, found[0][0]) if found else None

    async def latest(self, owner: str, limit: int, deadline: Deadline) -> tuple[Order, ...]:
        """The owner's orders, latest first, at most `limit` of them."""
        _in_time(deadline, "orders")
        orders = []
        for (document,) in self._read("orders", _LATEST, owner, limit):
            orders.append(decode_json(Order, document))
            await asyncio.sleep(0)  # an order can have a hundred lines
        return tuple(orders)

    async def purchased(self, owner: str, deadline: Deadline) -> tuple[str, ...]:
        """Title ids, latest purchase first; equal times by id."""
        _in_time(deadline, "orders")
        return tuple(title_id for (title_id,) in self._read("orders", _PURCHASED, owner))

    async def bought(self, owner: str, title_id: str, deadline: Deadline) -> tuple[OrderLine, ...]:
        """Of the owner's orders alone; the latest first."""
        _in_time(deadline, "orders")
        found = self._read("orders", _BOUGHT, owner, title_id, *sorted(NOT_BOUGHT), MOST_BOUGHT)
        orders = [decode_json(Order, document) for (document,) in found]
        return tuple(line for order in orders for line in order.lines if line.title_id == title_id)

    def dated_volumes(self) -> list[tuple[str, VolumeStock]]:
        """Title id and volume, of all that have a day on which they come out."""
        return [(title_id, VolumeStock(*row)) for title_id, *row in self._read("stock", _DATED)]

    async def health(self, deadline: Deadline) -> Health:
        """Answers as long as the store is open."""
        _in_time(deadline, "stock")
        self._read("stock", "SELECT 1")
        return Health(ok=True, detail="in this process")

    def _row(self, title_id: str, as_of: str) -> Availability:
        sold = self._sold.use(title_id)
        if sold is None:
            offers = [offer_from(row) for row in self._read("stock", _OFFERS, title_id)]
            sold = tuple(offers), tuple(VolumeStock(*row) for row in self._read("stock", _VOLUMES, title_id))
            self._sold.put(title_id, sold)
        return Availability(title_id, *sold, as_of)

    def _read(self, dependency: str, sql: str, *keys: str | int) -> list[Any]:
        """All rows at once: a cursor left half read would keep its statement open."""
        try:
            return self._db.execute(sql, keys).fetchall()
        except UnicodeEncodeError:  # half a character is no key of ours, and no failure either
            return []
        except sqlite3.Error as error:
            raise DependencyFailure("The store's records cannot be read now.", dependency=dependency) from error


_OFFERS = f"SELECT {', '.join(OFFER_COLUMNS)} FROM offers WHERE title_id = ? ORDER BY place"  # noqa: S608
_VOLUMES = f"SELECT {', '.join(VOLUME_COLUMNS)} FROM volumes WHERE title_id = ? ORDER BY format, volume"  # noqa: S608
_DATED = f"SELECT title_id, {', '.join(VOLUME_COLUMNS)} FROM volumes WHERE release_date IS NOT NULL"  # noqa: S608
_ORDER = "SELECT document FROM orders WHERE owner = ? AND order_id = ?"
_LATEST = "SELECT document FROM orders WHERE owner = ? ORDER BY ordered_at DESC, order_id DESC LIMIT ?"
_BOUGHT = (
    "SELECT document FROM orders WHERE owner = ?"  # noqa: S608
    " AND EXISTS (SELECT 1 FROM json_each(document, '$.lines') AS line WHERE json_extract(line.value, '$.title_id') = ?)"
    f" AND json_extract(document, '$.status') NOT IN ({', '.join('?' * len(NOT_BOUGHT))})"
    " ORDER BY ordered_at DESC, order_id DESC LIMIT ?"
)
_PURCHASED = "SELECT title_id FROM purchases WHERE owner = ? ORDER BY last_at DESC, title_id"


def write_store(
    path: Path,
    offers: Iterable[tuple[str, tuple[Offer, ...]]],
    volumes_file: Path | None = None,
    orders_file: Path | None = None,
    numbers: IdPattern | None = None,
) -> None:
    """Fills a file for `EmbeddedStore.of_file`. `numbers` is the pattern of the shop's orders. Raises StoreFileError.
    Blocking."""
    _load(offers, volumes_file, orders_file, numbers, str(path)).close()


def _load(
    offers: Iterable[tuple[str, tuple[Offer, ...]]],
    volumes_file: Path | None,
    orders_file: Path | None,
    numbers: IdPattern | None,
    database: str = ":memory:",
) -> sqlite3.Connection:
    """Everything is read and checked first, so a bad line leaves nothing behind."""
    catalogue = dict(offers)
    volumes = read_volumes(volumes_file) if volumes_file else []
    for title_id, _ in volumes:
        if volumes_file and title_id not in catalogue:
            problem = LineProblem(0, f"volumes of {title_id}, which is not in the catalogue")
            raise StoreFileError(volumes_file, [problem])
    orders = read_orders(orders_file, numbers) if orders_file else []
    db = sqlite3.connect(database, check_same_thread=False)
    try:
        fill(db, Contents(catalogue.items(), volumes, orders))
    except BaseException:
        db.close()
        raise
    return db


def _in_time(deadline: Deadline, dependency: str) -> None:
    if deadline.expired():
        raise TimedOut("The store did not answer in time.", dependency=dependency)


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
