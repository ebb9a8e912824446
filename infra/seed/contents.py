"""What is to be loaded: read and checked as a whole, before anything is changed anywhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from server.config.settings import DEMO
from tools.store.backends.dynamodb.attributes import Item
from tools.store.backends.dynamodb.items import order_item, release_item, stock_item, title_item
from tools.store.backends.dynamodb.tables import ORDERS, RELEASES, STOCK, TITLES, Table
from tools.store.identifiers import Identifiers
from tools.store.models import VolumeStock
from tools.store.records.catalog_file import Record, load
from tools.store.records.schemas import find_oddities
from tools.store.records.store_files import read_orders, read_volumes
from tools.store.releases.dated import releases_of
from tools.store.tags import Vocabulary


class ContentsError(ValueError):
    """A file that cannot be used; the message names it, the line where there is one, and what is wrong."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The files. The demo catalogue brings its own volumes and orders; `customers` is whether orders were named."""

    catalog: Path
    volumes: Path | None
    orders: Path | None
    customers: bool = False

    @classmethod
    def of(cls, catalog: Path, volumes: Path | None, orders: Path | None) -> Sources:
        if catalog.resolve() == (DEMO / "catalog.jsonl").resolve():
            return cls(catalog, volumes or DEMO / "volumes.jsonl", orders or DEMO / "orders.jsonl", orders is not None)
        return cls(catalog, volumes, orders, orders is not None)


@dataclass(frozen=True, slots=True)
class Contents:
    """Titles for the index, items for the tables. Every title has a stock item, so that one that is sold no more says so.
    `customers` is whether orders were asked for by name."""

    records: tuple[Record, ...]
    items: Mapping[Table, tuple[Item, ...]]
    customers: bool
    oddities: tuple[str, ...] = ()


def read(sources: Sources, identifiers: Identifiers, vocabulary: Vocabulary | None = None) -> Contents:
    """Raises RecordFileError with every line that is wrong, and ContentsError."""
    records = load(sources.catalog, vocabulary)
    if odd := next((each.title_id for each, _ in records if not identifiers.titles.matches(each.title_id)), None):
        raise ContentsError(f"{sources.catalog}: title_id {identifiers.titles.mismatch(odd, 'MANGA_TITLE_PATTERN')}")
    rows = read_volumes(sources.volumes) if sources.volumes else []
    volumes = _by_title(rows)
    if unknown := sorted(volumes.keys() - {title.title_id for title, _ in records}):
        raise ContentsError(f"{sources.volumes}: title {unknown[0]!r} is not in the catalogue")
    try:
        stock = tuple(stock_item(title.title_id, sold, volumes.get(title.title_id, ())) for title, sold in records)
    except ValueError as error:
        raise ContentsError(f"{sources.volumes}: {error}") from None
    orders = read_orders(sources.orders, identifiers.orders) if sources.orders else []
    items = {
        TITLES: tuple(title_item(title) for title, _ in records),
        STOCK: stock,
        RELEASES: tuple(release_item(each) for each in releases_of((title for title, _ in records), rows)),
        ORDERS: tuple(order_item(*each) for each in orders),
    }
    return Contents(records, items, sources.customers, tuple(find_oddities(records, rows, orders, vocabulary)))


def _by_title(rows: Iterable[tuple[str, VolumeStock]]) -> dict[str, list[VolumeStock]]:
    grouped: dict[str, list[VolumeStock]] = defaultdict(list)
    for title_id, volume in rows:
        grouped[title_id].append(volume)
    return grouped
