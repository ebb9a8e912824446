"""The files the embedded store is filled from: volumes and orders, one JSON object a line, plain or gzipped.

Volumes: `{"title_id", "volume", "isbn", "format", "price_jpy", "stock"}` and, where known, `restock_date` and
`release_date`. Orders: `owner` and the fields of `tools.store.models.Order`. Both are read wholly before anything is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from tools.store.backends.decode import ShapeError, decode
from tools.store.backends.embedded.records import CatalogFileError, read_bytes, unique_names
from tools.store.backends.store_rules import check_order, check_volume
from tools.store.models import Order, VolumeStock

Row = TypeVar("Row")


class StoreFileError(ValueError):
    """A store file that cannot be used. `line` counts from 1 and is 0 where the file itself is the matter."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        super().__init__(f"{path}, line {line}: {problem}" if line else f"{path}: {problem}")
        self.path, self.line, self.problem = path, line, problem


def read_volumes(path: Path) -> list[tuple[str, VolumeStock]]:
    """Pairs of title id and volume, in the file's order. Raises StoreFileError, also for an ISBN that comes twice."""
    return _rows(path, _volume, lambda row: (row[1].isbn or row[0], row[1].format, row[1].volume))


def read_orders(path: Path) -> list[tuple[str, Order]]:
    """Pairs of owner and order, in the file's order. Raises StoreFileError, also for an order id that comes twice."""
    return _rows(path, _order, lambda row: row[1].order_id)


def _volume(record: dict[str, Any]) -> tuple[str, VolumeStock]:
    title_id = _key(record, "title_id")
    volume = decode(VolumeStock, record)
    check_volume(volume)
    return title_id, volume


def _order(record: dict[str, Any]) -> tuple[str, Order]:
    owner = _key(record, "owner")
    order = decode(Order, record)
    check_order(order)
    return owner, order


def _key(record: dict[str, Any], name: str) -> str:
    value = record.pop(name, None)
    if not isinstance(value, str) or not value:
        raise ShapeError(f"$.{name} must be text that is not empty")
    return value


def _rows(path: Path, parse: Callable[[dict[str, Any]], Row], identity: Callable[[Row], object]) -> list[Row]:
    rows: list[Row] = []
    seen: dict[object, int] = {}
    for number, raw in _lines(path):
        try:
            row = parse(_json_object(raw))
        except ShapeError as error:
            raise StoreFileError(path, number, str(error)) from error
        first = seen.setdefault(identity(row), number)
        if first != number:
            raise StoreFileError(path, number, f"the same entry as in line {first}")
        rows.append(row)
    return rows


def _json_object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=unique_names)
        if b"\\u" in raw:  # an escape can name half a character, which no database takes
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ShapeError(f"not JSON in UTF-8: {error}") from error
    if not isinstance(value, dict):
        raise ShapeError("$ must be an object")
    return value


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that are not blank."""
    try:
        content = read_bytes(path)
    except CatalogFileError as error:
        raise StoreFileError(path, 0, error.message) from error
    return ((number, raw) for number, raw in enumerate(content.split(b"\n"), 1) if raw.strip())
