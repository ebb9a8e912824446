"""Shortens a result to a number of tokens; the result still satisfies its output schema.

`Tool.sheds` lists paths into the result in the order in which they are dropped. `results.synopsis` is this field in all
rows; `results[]` are the rows, removed from the end until the result fits. A text is dropped whole or not at all. Token
weights are additive, so each part is weighed once, when it is dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic_core import from_json, to_json

from tools.schema.parts import ROWS, Json

A_TOKEN = 32
"""Weight units per token."""
_CLASSES: tuple[tuple[bytes, int], ...] = (
    (bytes(range(0x80)), 38),  # ASCII that no later row has: hyphens, slashes, quotes within a text
    (b"abcdefghijklmnopqrstuvwxyz", 8),
    (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 18),
    (b"0123456789", 33),  # many tokenizers take each digit alone, and few merge more than three
    (b" ", 5),
    (b'",:{}[]', 15),  # JSON punctuation, which tokenizers merge
    (bytes(range(0xC2, 0xC7)), 52),  # letters with accents
    (bytes(range(0xC7, 0xE0)), 54),  # Greek, Cyrillic, Hebrew, Arabic
    (bytes(range(0xE0, 0xE2)), 80),  # the scripts of India and South-East Asia
    (b"\xe2", 96),  # symbols, and emoji joiners
    (b"\xe3", 31),  # kana and the punctuation of Japanese
    (bytes(range(0xE4, 0xEA)), 42),  # ideographs
    (bytes(range(0xEA, 0xEE)), 86),  # Hangul
    (bytes(range(0xEE, 0xF0)), 96),  # fullwidth and halfwidth forms, and emoji selectors
    (bytes(range(0xF0, 0xF5)), 128),  # emoji, rare ideographs
)
"""Weights of UTF-8 bytes by class; of two classes with the same byte the later one counts. Other bytes weigh 0."""


def _table() -> bytes:
    weights = bytearray(256)
    for members, weight in _CLASSES:
        for byte in members:
            weights[byte] = weight
    return bytes(weights)


_WEIGHTS = _table()


def estimate(text: str) -> int:
    """Estimates the number of tokens in the text, rounded up. Takes linear time, some 10 microseconds for 6 KB."""
    return -(-weight(text) // A_TOKEN)


def weight(text: str) -> int:
    """Returns the weight of the text in 1/32 of a token (`A_TOKEN`). Weights are additive: a text weighs exactly as much as
    its pieces together."""
    return _sum(text.encode("utf-8", "replace"))


def weight_as_json(value: Any) -> int:
    return _sum(to_json(value))


def _sum(text: bytes) -> int:
    return int(np.add.reduce(np.frombuffer(text.translate(_WEIGHTS), np.uint8), dtype=np.int64))


_CARD = (
    "cover_url", "product_url", "synopsis", "tags", "start_year", "content_notes", "status", "volumes", "genre", "title_ja",
    "rating", "author", "audience",
)  # fmt: skip


def _of_rows(rows: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{rows}.{name}" for name in names)


SEARCH = (*_of_rows("results", _CARD), "understood", "nearly[]", "results[]", "relaxed[]")
RECOMMENDATIONS = (
    *_of_rows("recommendations", _CARD),
    "based_on", "understood", "recommendations.reason", "recommendations[]", "relaxed[]",
)  # fmt: skip
DETAILS = (
    "cover_url", "alt_titles", "chapters", "rating_count", "popularity_rank", "magazine", "end_year", "authors", "related[]",
    "related", "titles", "publisher", "edition_language", "product_url", "synopsis.ja", "synopsis", "tags", "start_year",
    "status", "volumes", "genre", "rating", "author", "content_notes", "offers", "audience",
)  # fmt: skip
INVENTORY = (
    "checked_query",
    *_of_rows("items", (
        "upcoming", "formats.campaign", "formats.list_price_jpy", "formats.stock_is", "volumes_total", "as_of",
        "volumes_in_stock", "formats", "restock", "missing_volumes",
    )),
    "items[]", "not_found[]", "unanswered[]",
)  # fmt: skip
PRICES = (
    "checked_query",
    *_of_rows("items", (
        "formats.campaign.name", "formats.saving.why", "formats.saving.against", "formats.fixed_price",
        "formats.volumes_in_stock", "as_of", "formats.campaign", "formats.list_price_jpy", "formats.saving", "complete",
        "cheapest",
    )),
    "items[]", "comparison", "not_found[]", "unanswered[]",
)  # fmt: skip
VOLUMES = ("volumes.isbn", "volumes.restock_date", "volumes[]", "in_stock")
GENRES = ("by", "readerships[]", "tags[]")
PREVIEW = ("content_notes", "pages.alt", "pages[]", "audience")
REMEMBERED = ("preferences[]", "obeyed[]")
FORGOTTEN = ("preferences[]", "removed[]")
ORDERS = (
    *_of_rows("shipments", ("events.status_ja", "status_ja", "events.place", "service", "events[]", "events")),
    *_of_rows("lines", ("isbn", "supply", "format", "unit_price_jpy", "tracking_number", "expected_date")),
    "shop_status_ja", "shop_note", "prefecture", "subtotal_jpy", "shipping_jpy", "orders.contents",
    "orders.estimated_delivery", "orders[]", "lines[]", "shipments[]", "return_until", "shop_status",
)  # fmt: skip


COMMA, BRACKETS = weight(","), weight("[]")


@dataclass(frozen=True, slots=True)
class Cut:
    """A list that lost rows. `name`: its field; `kept`: number of rows left; `of`: number of rows before."""

    name: str
    kept: int
    of: int


@dataclass(frozen=True, slots=True)
class Shortened:
    """A shortened result. `left_out`: names of dropped fields; `cuts`: lists that lost rows."""

    value: Json
    left_out: tuple[str, ...]
    cuts: tuple[Cut, ...]


def shorten(value: Json, sheds: Sequence[str], most: int) -> Shortened:
    """Drops the paths `sheds` in order until the value's JSON weighs at most `most` (in units of 1/`A_TOKEN` token) or no
    path is left. Takes linear time."""
    text, left_out, cuts = to_json(value), [], []
    value, excess = from_json(text), _sum(text) - most
    for path in sheds:
        if excess <= 0:
            break
        *way, name = path.removesuffix(ROWS).split(".")
        holders = [each for each in _objects_at(value, way) if name in each]
        if not path.endswith(ROWS):
            left_out += [name] if holders else []
            excess -= _drop(holders, name)
            continue
        lists = [each[name] for each in holders if isinstance(each[name], list)]
        rows = sum(map(len, lists))
        excess -= _cut(lists, excess)
        if rows > (kept := sum(map(len, lists))):
            cuts.append(Cut(name, kept, rows))
    return Shortened(value, tuple(left_out), tuple(cuts))


def _objects_at(value: Any, way: Sequence[str]) -> Iterable[Json]:
    if isinstance(value, list):
        for each in value:
            yield from _objects_at(each, way)
    elif isinstance(value, dict):
        if way:
            yield from _objects_at(value.get(way[0]), way[1:])
        else:
            yield value


def _drop(holders: Sequence[Json], name: str) -> int:
    if not holders:
        return 0
    dropped = [each.pop(name) for each in holders]
    # A list of n values has n - 1 commas. Each object lost one comma, unless the field was its only field.
    commas = sum(map(bool, holders)) - (len(dropped) - 1)
    return weight_as_json(dropped) - BRACKETS + commas * COMMA + len(dropped) * weight(f'"{name}":')


def _cut(lists: Sequence[list[Any]], excess: int) -> int:
    """Removes rows from the end, the last list first, until the weight `excess` is removed or no rows are left. Returns the
    weight removed."""
    gone = 0
    for rows in reversed(lists):
        while rows and gone < excess:
            gone += weight_as_json(rows.pop()) + (COMMA if rows else 0)
    return gone
