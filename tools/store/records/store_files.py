"""The files of a store: volumes and orders, one JSON object a line, plain or gzipped.

A volume's line has `title_id` and the fields of `tools.store.models.VolumeStock`, an order's `owner` and the fields of
`tools.store.models.Order`. Both are read wholly before anything is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tools.store.identifiers import IdPattern
from tools.store.models import Order, VolumeStock
from tools.store.records.lines import LineProblem, RecordFileError, UnreadableFile, json_object, numbered_lines, read_bytes
from tools.store.records.order import read_order
from tools.store.records.shape import ShapeError, collect, naming_values
from tools.store.records.volume import read_volume

Row = TypeVar("Row")


class StoreFileError(RecordFileError):
    """A store file that cannot be used."""

    def __init__(self, path: Path, problems: Sequence[LineProblem]) -> None:
        super().__init__(problems, str(path))
        self.path = path


def read_volumes(path: Path, titles: Container[str] | None = None) -> list[tuple[str, VolumeStock]]:
    """Pairs of title id and volume, in the file's order. Raises StoreFileError, also for an ISBN that comes twice, for a
    volume of a title that comes twice in one format, and for a title that is none of `titles`, where those are given."""
    return _rows(path, partial(_volume, titles), _names_of_volume)


def read_orders(path: Path, numbers: IdPattern | None = None) -> list[tuple[str, Order]]:
    """Pairs of owner and order, in the file's order. Raises StoreFileError, also for an order id that comes twice, and for
    one that is not of the shop's pattern, where that is given."""
    return _rows(path, partial(_order, numbers), lambda row: [row[1].order_id])


def _volume(titles: Container[str] | None, record: dict[str, Any]) -> tuple[str, VolumeStock]:
    problems: list[str] = []
    with collect(problems):
        title_id = _key(record, "title_id")
        if titles is not None and title_id not in titles:
            raise ShapeError(f"$.title_id {title_id!r} is not in the catalogue")
    with collect(problems), naming_values(record):
        volume = read_volume(record)
    if problems:
        raise ShapeError(*problems)
    return title_id, volume


def _order(numbers: IdPattern | None, record: dict[str, Any]) -> tuple[str, Order]:
    owner = _key(record, "owner")
    order = read_order(record)
    if numbers is not None and not numbers.matches(order.order_id):
        raise ShapeError(f"$.order_id {numbers.mismatch(order.order_id, 'MANGA_ORDER_PATTERN')}")
    return owner, order


def _names_of_volume(row: tuple[str, VolumeStock]) -> Iterator[Hashable]:
    """What no other may go by: a store keeps volumes by title, format and number, and a book by its ISBN."""
    title_id, volume = row
    yield title_id, volume.format, volume.volume
    if volume.isbn is not None:
        yield volume.isbn


def _key(record: dict[str, Any], name: str) -> str:
    value = record.pop(name, None)
    if not isinstance(value, str) or not value:
        raise ShapeError(f"$.{name} must be text that is not empty")
    return value


def _rows(path: Path, parse: Callable[[dict[str, Any]], Row], names: Callable[[Row], Iterable[Hashable]]) -> list[Row]:
    rows: list[Row] = []
    problems: list[LineProblem] = []
    seen: dict[Hashable, int] = {}
    try:
        lines = numbered_lines(read_bytes(path))
    except UnreadableFile as error:
        raise StoreFileError(path, [LineProblem(0, str(error))]) from error
    for number, raw in lines:
        try:
            row = parse(json_object(raw))
            earlier = [line for name in names(row) if (line := seen.setdefault(name, number)) != number]
            if earlier:
                raise ShapeError(f"the same entry as in line {earlier[0]}")
            rows.append(row)
        except ShapeError as error:
            problems += (LineProblem(number, problem) for problem in error.problems)
    if problems:
        raise StoreFileError(path, problems)
    return rows
