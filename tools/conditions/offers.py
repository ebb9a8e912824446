"""Conditions that live stock decides: titles sold out since the catalogue was loaded, and prices that have changed.

The catalogue finds by the offers that it has on record. `Pending` travels with what was found, in what is cached as well,
and `with_offers` joins the stock of the moment: what is known to be sold out or beyond the price is dropped, so that a few
more titles are asked for than shown. Unchecked titles stay if the record allows them, with a note; without a record they
go.
"""

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
"""Titles beyond those to show: more than one in three of a page's are hardly sold out within a day."""
PENDING = "pending"
PLACES = "places"
"""The cards' places in the list that offsets count, from 1 after the offset, for callers that show fewer cards. Not for
the model."""
SOLD_OUT = "Matching titles cannot be bought like this at the moment."
UNCHECKED = "Stock and price could not be checked now: these are as last recorded, so do not promise them."


@dataclass(frozen=True, slots=True)
class Pending:
    """Conditions of sale to check against live stock. `most`: how many titles to show; `offset`: how many come before them;
    `recorded`: True if the catalogue's record says that they hold. Titles in `named`, which the customer asked for by name,
    have to meet `own` alone: a remembered budget hides none of them."""

    conditions: Conditions
    most: int
    offset: int = 0
    recorded: bool = True
    named: tuple[str, ...] = ()
    own: Conditions = Conditions()

    @classmethod
    def from_conditions(cls, conditions: Conditions, most: int, offset: int = 0, *, recorded: bool = True) -> Pending | None:
        """The conditions of sale; None if there are none."""
        asked = of_sale(conditions)
        return cls(asked, most, offset, recorded) if asked.stated else None

    def but_for(self, named: Sequence[str], own: Conditions | None) -> Pending:
        """A copy that asks of the titles `named` only the conditions of sale in `own`."""
        return self if own is None or not named else replace(self, named=tuple(named), own=of_sale(own))

    def asked_of(self, title_id: str) -> Conditions:
        return self.own if title_id in self.named else self.conditions

    def as_json(self) -> Json:
        plain: Json = {"asked": _plain(self.conditions), "most": self.most, "offset": self.offset, "recorded": self.recorded}
        return plain | ({"named": list(self.named), "own": _plain(self.own)} if self.named else {})

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Pending:
        named, own = tuple(kept.get("named", ())), _read(kept.get("own", {}))
        return cls(_read(kept["asked"]), kept["most"], kept["offset"], kept["recorded"], named, own)


def of_sale(conditions: Conditions) -> Conditions:
    return conditions.but(*(name for name in conditions.stated if name not in SALE))


def _plain(conditions: Conditions) -> Json:
    asked = {name: getattr(conditions, name) for name in conditions.stated}
    return {name: [each.least, each.most] if isinstance(each, Range) else each for name, each in asked.items()}


def _read(kept: Mapping[str, Any]) -> Conditions:
    asked: Json = {name: Range(*each) if isinstance(each, list) else each for name, each in kept.items()}
    return Conditions(**asked)


async def with_offers(context: ToolContext, result: Json, name: str) -> Json:
    """The result with live price and stock on the cards under `name`. Pending conditions of sale are checked, and cards that
    fail them dropped."""
    cards = result[name]
    reading = await read_stock(context, cards)
    if PENDING not in result:
        return result | {name: [card | stock_facts(reading.rows, card["title_id"]) for card in cards]}
    pending = Pending.from_json(result[PENDING])
    settled = settle(pending, cards, reading)
    rest = {key: value for key, value in result.items() if key not in (PENDING, "next_offset")}
    places = {PLACES: settled.places} if settled.dropped else {}
    return rest | {name: settled.cards} | _describe_page(pending, settled, result) | places


def _describe_page(pending: Pending, settled: Settled, result: Json) -> Json:
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
class Settled:
    """`cards` to show; `passed`: how many of the given were looked at for them, the last shown one included; `dropped`: how
    many of those cannot be bought as asked; `unchecked`: whether any is shown by its record alone; `places`: how many were
    looked at for each shown one."""

    cards: list[Json]
    passed: int
    dropped: int
    unchecked: bool
    places: list[int] = field(default_factory=list)


def settle(pending: Pending, cards: Sequence[Json], reading: StockReading) -> Settled:
    """Selects the first `most` cards that live stock allows; a card without an answer stays if its record allowed it."""
    shown: list[Json] = []
    places: list[int] = []
    passed = unchecked = 0
    for card in cards:
        if len(shown) == pending.most:
            break
        passed += 1
        title_id = card["title_id"]
        row, asked = reading.rows.get(title_id), pending.asked_of(title_id)
        if row is not None and can_be_had(row, card.get("volumes"), asked):
            shown.append(card | sold_so(row, asked.format))
        elif title_id in reading.unanswered and pending.recorded:
            unchecked += 1
            shown.append(card)
        if len(places) < len(shown):
            places.append(passed)
    return Settled(shown, passed, passed - len(shown), unchecked > 0, places)


def can_be_had(row: Availability, volumes: int | None, asked: Conditions) -> bool:
    """True if an offer of the title satisfies the conditions of sale."""
    sale = _sold_as(row, asked.format)
    if sale is None or sale.price not in asked.price:
        return False
    if asked.series_price and series_price(sale, volumes) not in asked.series_price:
        return False
    if asked.all_volumes and not _whole(row, sale):
        return False
    return _has_stock(row, sale) or not (asked.in_stock or asked.all_volumes)


def sold_so(row: Availability, format_: str | None) -> Json:
    """Returns price and stock in the asked format, as a card shows them."""
    sale = _sold_as(row, format_)
    return (
        {"price_jpy": None, "in_stock": None}
        if sale is None
        else {"price_jpy": sale.price, "in_stock": _has_stock(row, sale)}
    )


def _sold_as(row: Availability, format_: str | None) -> Sale | None:
    """Returns the sale in a format at the row's prices, which are those of the day already."""
    return sale_in(sales_of([replace(offer, campaign=None) for offer in row.offers]), format_)


def _has_stock(row: Availability, sale: Sale) -> bool:
    return in_stock(row) if sale.format == PAPER else sale.stocked


def _whole(row: Availability, sale: Sale) -> bool:
    """True if no released volume is sold out, as far as the store counts by volume."""
    return all(volume.stock > 0 or row.is_awaited(volume) for volume in row.volumes if volume.format == sale.format)
