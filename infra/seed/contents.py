"""Contents of a load, which are read and checked completely before anything is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from server.config.settings import DEMO
from tools.store.backends.dynamodb.items import (
    Item,
    in_currency,
    order_item,
    popular_item,
    release_item,
    stock_item,
    title_item,
)
from tools.store.backends.dynamodb.tables import ORDERS, RELEASES, STOCK, TITLES, Table
from tools.store.identifiers import Identifiers
from tools.store.models import Order, VolumeStock
from tools.store.records.catalog_file import Record, RecordFileError, load
from tools.store.records.schemas import find_odd_rows, find_odd_titles
from tools.store.records.store_files import read_orders, read_volumes
from tools.store.store import releases_of
from tools.store.tags import Vocabulary


class ContentsError(ValueError):
    """The files are invalid. The message has a line for each problem, with the file and, if known, the line number."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Files to load. The demo catalogue brings its own volumes and orders. `customers`: a file of orders was named."""

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
    """Titles for the search index, and items for the tables. Every title has a stock item, so that a title no longer sold is
    marked as such. `customers`: a file of orders was named. `oddities`: warnings; `counted`: the numbers of titles, volumes
    and orders, as text."""

    records: tuple[Record, ...]
    items: Mapping[Table, tuple[Item, ...]]
    customers: bool
    oddities: tuple[str, ...] = ()
    counted: str = ""


def read(sources: Sources, identifiers: Identifiers, vocabulary: Vocabulary | None = None) -> Contents:
    """Reads and checks all files. Raises `ContentsError`, which lists the invalid lines of all files."""
    currency, problems = identifiers.currency, list[str]()
    records, rows, orders = tuple[Record, ...](), list[tuple[str, VolumeStock]](), list[tuple[str, Order]]()
    with _telling(problems):
        records = load(sources.catalog, vocabulary, identifiers.titles, currency)
    titles = frozenset(title.title_id for title, _ in records) if records else None
    with _telling(problems):
        rows = read_volumes(sources.volumes, titles, currency) if sources.volumes else []
    with _telling(problems):
        orders = read_orders(sources.orders, identifiers.orders, currency) if sources.orders else []
    if problems:
        raise ContentsError("\n".join(problems))
    volumes = _by_title(rows)
    try:
        stock = tuple(stock_item(title.title_id, sold, volumes.get(title.title_id, ())) for title, sold in records)
    except ValueError as error:
        raise ContentsError(f"{sources.volumes}: {error}") from None
    priced = partial(in_currency, currency)
    items = {
        TITLES: (*(title_item(title) for title, _ in records), popular_item(title for title, _ in records)),
        STOCK: tuple(map(priced, stock)),
        RELEASES: tuple(release_item(each) for each in releases_of((title for title, _ in records), rows)),
        ORDERS: tuple(priced(order_item(*each)) for each in orders),
    }
    by_id = {title.title_id: title for title, _ in records}
    odd = (*find_odd_titles(records, vocabulary), *find_odd_rows(by_id, rows, orders))
    counted = f"{len(records):,} titles, {len(rows):,} volumes, {len(orders):,} orders"
    return Contents(records, items, sources.customers, odd, counted)


@contextmanager
def _telling(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except RecordFileError as error:
        problems += (f"{error.name}{', ' if each.line else ': '}{each}" for each in error.problems)
        if error.count > len(error.problems):
            problems.append(f"{error.name}: and {error.count - len(error.problems)} more")


def _by_title(rows: Iterable[tuple[str, VolumeStock]]) -> dict[str, list[VolumeStock]]:
    grouped: dict[str, list[VolumeStock]] = defaultdict(list)
    for title_id, volume in rows:
        grouped[title_id].append(volume)
    return grouped
