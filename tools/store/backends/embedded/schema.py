"""The tables of the embedded store and the one way they are filled."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, fields, replace
from typing import Any, NamedTuple

from tools.store.models import Campaign, Offer, Order, VolumeStock
from tools.store.models.order import NOT_BOUGHT
from tools.store.models.volume import offer_of

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
