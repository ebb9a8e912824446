"""Checks conditions of sale (price, format and stock) against live stock.

The catalogue filters by recorded offers, which may be out of date. A result therefore carries its conditions of sale as
`Pending`, also in the cache. `with_offers` reads live stock and drops titles that fail these conditions, so a search fetches
`MORE` (10) titles in addition to those shown. A title without an answer from stock is kept, with a note, if the recorded
offers satisfied the conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from session.begin import result_set_name
from tools.contract import Json, ToolContext
from tools.results.rows import in_stock, read_stock, stock_facts
from tools.store.models import PAPER, Availability, Conditions, Range
from tools.store.search.conditions.check import Sale, sale_in, sales_of, series_price
from tools.store.stock import StockReading

SALE = ("price", "series_price", "format", "in_stock", "all_volumes")
MORE = 10
"""Titles fetched beyond those to show; enough, since rarely more than a third of a page is sold out within a day."""
PENDING = "pending"
PLACES = "places"
"""Key of a list with the position of each shown row among the rows checked, from 1. The model does not receive it."""
SOLD_OUT = "Matching titles cannot be bought like this at the moment."
UNCHECKED = "Stock and price could not be checked now: these are as last recorded, so do not promise them."


@dataclass(frozen=True, slots=True)
class Pending:
    """Conditions of sale to check against live stock. `most`: number of titles to show; `offset`: number of titles before
    them. `recorded`: whether recorded offers satisfied the conditions. Titles in `named`, requested by name, must satisfy
    only `own`, which lacks the remembered budget."""

    conditions: Conditions
    most: int
    offset: int = 0
    recorded: bool = True
    named: tuple[str, ...] = ()
    own: Conditions = Conditions()

    @classmethod
    def from_conditions(cls, conditions: Conditions, most: int, offset: int = 0, *, recorded: bool = True) -> Pending | None:
        """Returns the conditions of sale among `conditions`; None if there are none."""
        asked = conditions.only(*SALE)
        return cls(asked, most, offset, recorded) if asked.stated else None

    def but_for(self, named: Sequence[str], own: Conditions | None) -> Pending:
        """Returns a copy that checks the titles `named` only against the conditions of sale in `own`. Returns self if
        `named` is empty or `own` is None."""
        return self if own is None or not named else replace(self, named=tuple(named), own=own.only(*SALE))

    def asked_of(self, title_id: str) -> Conditions:
        return self.own if title_id in self.named else self.conditions

    def as_json(self) -> Json:
        plain: Json = {"asked": _plain(self.conditions), "most": self.most, "offset": self.offset, "recorded": self.recorded}
        return plain | ({"named": list(self.named), "own": _plain(self.own)} if self.named else {})

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Pending:
        named, own = tuple(kept.get("named", ())), _read(kept.get("own", {}))
        return cls(_read(kept["asked"]), kept["most"], kept["offset"], kept["recorded"], named, own)


def _plain(conditions: Conditions) -> Json:
    asked = {name: getattr(conditions, name) for name in conditions.stated}
    return {name: [each.least, each.most] if isinstance(each, Range) else each for name, each in asked.items()}


def _read(kept: Mapping[str, Any]) -> Conditions:
    asked: Json = {name: Range(*each) if isinstance(each, list) else each for name, each in kept.items()}
    return Conditions(**asked)


async def with_offers(context: ToolContext, result: Json, name: str) -> Json:
    """Adds live price and stock to the title rows under `name` of a fresh or cached result, and drops rows that fail the
    result's conditions of sale. Adds "stock" to `degraded` if some stock cannot be read."""
    cards = result[name]
    reading = await read_stock(context, cards)
    if PENDING not in result:
        return result | {name: [card | stock_facts(reading.rows, card["title_id"]) for card in cards]}
    pending = Pending.from_json(result[PENDING])
    settled = filter_by_stock(pending, cards, reading)
    rest = {key: value for key, value in result.items() if key not in (PENDING, "next_offset")}
    places = {PLACES: settled.places} if settled.dropped else {}
    return rest | {name: settled.cards} | _describe_page(pending, settled, result) | places


def _describe_page(pending: Pending, settled: StockFiltered, result: Json) -> Json:
    told: Json = {"result_set": result_set_name([card["title_id"] for card in settled.cards])}
    if "total" in result:
        told["total"] = result["total"] - settled.dropped
        after = pending.offset + settled.passed
        told |= {"next_offset": after} if after < result["total"] else {}
    elif "next_offset" in result:
        told["next_offset"] = pending.offset + settled.passed
    notes = [result.get("note"), UNCHECKED if settled.unchecked else None, None if settled.cards else SOLD_OUT]
    if note := " ".join(filter(None, notes)):
        told["note"] = note
    return told


@dataclass(frozen=True, slots=True)
class StockFiltered:
    """Result of `filter_by_stock`. `cards`: title rows to show. `passed`: number of rows examined; `dropped`: number of
    examined rows not shown. `unchecked`: whether a row is shown without an answer from stock. `places`: position of each
    shown row among the examined rows, from 1."""

    cards: list[Json]
    passed: int
    dropped: int
    unchecked: bool
    places: list[int] = field(default_factory=list)


def filter_by_stock(pending: Pending, cards: Sequence[Json], reading: StockReading) -> StockFiltered:
    """Selects the first `pending.most` rows that satisfy the conditions by live stock. A row without an answer from stock is
    kept if recorded offers satisfied the conditions."""
    shown: list[Json] = []
    places: list[int] = []
    passed = unchecked = 0
    for card in cards:
        if len(shown) == pending.most:
            break
        passed += 1
        title_id = card["title_id"]
        row, asked = reading.rows.get(title_id), pending.asked_of(title_id)
        if row is not None and satisfies_sale(row, card.get("volumes"), asked):
            shown.append(card | sale_facts(row, asked.format))
        elif title_id in reading.unanswered and pending.recorded:
            unchecked += 1
            shown.append(card)
        if len(places) < len(shown):
            places.append(passed)
    return StockFiltered(shown, passed, passed - len(shown), unchecked > 0, places)


def satisfies_sale(row: Availability, volumes: int | None, asked: Conditions) -> bool:
    sale = _sold_as(row, asked.format)
    if sale is None or sale.price not in asked.price:
        return False
    if asked.series_price and series_price(sale, volumes) not in asked.series_price:
        return False
    if asked.all_volumes and not _whole(row, sale):
        return False
    return _has_stock(row, sale) or not (asked.in_stock or asked.all_volumes)


def sale_facts(row: Availability, format_: str | None) -> Json:
    sale = _sold_as(row, format_)
    return (
        {"price_jpy": None, "in_stock": None}
        if sale is None
        else {"price_jpy": sale.price, "in_stock": _has_stock(row, sale)}
    )


def _sold_as(row: Availability, format_: str | None) -> Sale | None:
    """Returns the price and stock in a format (None: see `sale_in`); None if the title is not sold in it. Campaigns are
    removed, since the offers' prices already include them."""
    return sale_in(sales_of([replace(offer, campaign=None) for offer in row.offers]), format_)


def _has_stock(row: Availability, sale: Sale) -> bool:
    return in_stock(row) if sale.format == PAPER else sale.stocked


def _whole(row: Availability, sale: Sale) -> bool:
    """True if no released volume in the format is sold out, or if the store does not count stock by volume."""
    return all(volume.stock > 0 or row.is_awaited(volume) for volume in row.volumes if volume.format == sale.format)
