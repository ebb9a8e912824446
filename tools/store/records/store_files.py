"""Reads the files of a store, volumes and orders, with one JSON object a line, plain or gzipped.

A volume's line has `title_id` and the fields of `tools.store.models.VolumeStock`; an order's line has `owner` and the fields
of `tools.store.models.Order`. A file is read completely before any row is returned."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tools.store.currency import YEN, Currency
from tools.store.identifiers import IdPattern
from tools.store.models import Order, VolumeStock
from tools.store.models.offer import price_problem
from tools.store.records.catalog_file import LineProblem, RecordFileError, Row, UnreadableFile, read_maybe_gzip, read_rows
from tools.store.shape import ShapeError, collect, decode, in_currency


def read_order(
    record: dict[str, Any], *, unknown: Literal["forbid", "ignore"] = "forbid", currency: Currency = YEN
) -> Order:
    """Decodes an order; `unknown` is "ignore" for a backend's record. Raises ShapeError, also if the amounts do not add up;
    for a wrong subtotal the message has the right one, in `currency`."""
    order = decode(Order, record, unknown=unknown)
    subtotal = sum(line.quantity * line.unit_price_jpy for line in order.lines)
    if order.subtotal_jpy != subtotal:
        raise ShapeError(f"$.subtotal_jpy must be {currency.amount(subtotal)}, the sum of the lines")
    if order.total_jpy != subtotal + order.shipping_jpy:
        raise ShapeError("$.total_jpy must be subtotal and shipping")
    return order


def read_volume(record: dict[str, Any]) -> VolumeStock:
    """Decodes a volume from a file. Raises ShapeError, also for an impossible price or ISBN."""
    volume = decode(VolumeStock, record)
    if problem := price_problem(volume.format, volume.price_jpy):
        raise ShapeError(f"$.price_jpy {problem}")
    if volume.isbn is not None and not is_isbn13(volume.isbn):
        raise ShapeError("$.isbn must be 13 digits with a right check digit")
    return volume


def is_isbn13(text: str) -> bool:
    """Returns True for an ISBN-13 with a valid check digit (ISO 2108)."""
    if not re.fullmatch(r"97[89][0-9]{10}", text):
        return False
    return sum(int(digit) * (3 if i % 2 else 1) for i, digit in enumerate(text)) % 10 == 0


class StoreFileError(RecordFileError):
    pass


def read_volumes(
    path: Path, titles: Container[str] | None = None, currency: Currency = YEN
) -> list[tuple[str, VolumeStock]]:
    """Returns (title id, volume) pairs in the file's order. Raises StoreFileError, also for a duplicate ISBN, a duplicate
    volume of a title and format, and a title that is not in `titles`, if given."""
    return _rows(path, partial(_volume, titles, currency), _names_of_volume)


def read_orders(path: Path, numbers: IdPattern | None = None, currency: Currency = YEN) -> list[tuple[str, Order]]:
    """Returns (owner, order) pairs in the file's order. Raises StoreFileError, also for a duplicate order id, and for an id
    that does not match the pattern `numbers`, if given."""
    return _rows(path, partial(_order, numbers, currency), lambda row: [f"order {row[1].order_id}"])


def _volume(titles: Container[str] | None, currency: Currency, record: dict[str, Any]) -> tuple[str, VolumeStock]:
    problems: list[str] = []
    with collect(problems):
        title_id = _key(record, "title_id")
        if titles is not None and title_id not in titles:
            raise ShapeError(f"$.title_id {title_id!r} is not in the catalogue")
    with collect(problems), in_currency(currency, record) as given:
        volume = read_volume(given)
    if problems:
        raise ShapeError(*problems)
    return title_id, volume


def _order(numbers: IdPattern | None, currency: Currency, record: dict[str, Any]) -> tuple[str, Order]:
    owner = _key(record, "owner")
    with in_currency(currency, record) as given:
        order = read_order(given, currency=currency)
    if numbers is not None and not numbers.matches(order.order_id):
        raise ShapeError(f"$.order_id {numbers.mismatch(order.order_id, 'MANGA_ORDER_PATTERN')}")
    return owner, order


def _names_of_volume(row: tuple[str, VolumeStock]) -> Iterator[str]:
    title_id, volume = row
    yield f"volume {volume.volume} ({volume.format}) of {title_id}"
    if volume.isbn is not None:
        yield f"isbn {volume.isbn}"


def _key(record: dict[str, Any], name: str) -> str:
    value = record.pop(name, None)
    if not isinstance(value, str) or not value:
        raise ShapeError(f"$.{name} must be text that is not empty")
    return value


def _rows(path: Path, read: Callable[[dict[str, Any]], Row], names: Callable[[Row], Iterable[str]]) -> list[Row]:
    try:
        rows, problems = read_rows(read_maybe_gzip(path), read, names)
    except UnreadableFile as error:
        raise StoreFileError([LineProblem(0, str(error))], str(path)) from error
    if problems:
        raise StoreFileError(problems, str(path))
    return rows
