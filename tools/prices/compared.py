"""Titles side by side, as a result shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from tools.contract import Json
from tools.prices.cheapest import Buy, cheapest_start, cheapest_volume, cheapest_whole
from tools.prices.format_price import FormatPrice, format_prices
from tools.results.rows import CAMPAIGN, reduced
from tools.schema.parts import INTEGER, STRING, listed, nullable, record
from tools.store.models import Availability, Status, Title
from tools.store.models.offer import FIXED
from tools.store.search.conditions.facts import status_of

_BUY = record({"title_id": STRING, "format": STRING, "jpy": INTEGER}, ["title_id", "format", "jpy"])
_SAVING = record({"jpy": INTEGER, "percent": INTEGER, "against": STRING, "why": STRING}, ["jpy"])
_FORMAT = record(
    {
        "format": STRING,
        "per_volume_jpy": nullable("integer"),
        "series_jpy": nullable("integer"),
        "list_price_jpy": INTEGER,
        "campaign": CAMPAIGN,
        "fixed_price": {"type": "boolean"},
        "in_stock": nullable("boolean"),
        "volumes_in_stock": INTEGER,
        "saving": _SAVING,
    },
    ["format"],
)
ITEM = record(
    {
        "title_id": STRING,
        "title": nullable("string"),
        "volumes": nullable("integer"),
        "complete": nullable("boolean", "False: so far."),
        "formats": listed(_FORMAT),
        "cheapest": {"type": "object", "description": "The format, of what can be bought now: per_volume, whole."},
        "availability": STRING,
        "as_of": STRING,
    },
    ["title_id", "formats"],
)
COMPARISON = record({"cheapest_to_start": _BUY, "cheapest_complete": _BUY}, [])

SO_FAR = "Where complete is false the series goes on or was broken off: series_jpy is what its volumes cost so far."
UNCOUNTED = "Where volumes is null it is not known how many there are, so that what they cost together is null too."


@dataclass(frozen=True, slots=True)
class Priced:
    """A title with what it costs. `title` is None where the catalogue could not be read, `name` where nobody knows it."""

    row: Availability
    title: Title | None
    name: str | None

    @property
    def volumes(self) -> int | None:
        """None where that is not known: a title that has come out has one at least."""
        return (self.title.volumes or None) if self.title else None

    @property
    def complete(self) -> bool | None:
        status = status_of(self.title) if self.title else None
        return None if status is None else status is Status.FINISHED

    @property
    def prices(self) -> tuple[FormatPrice, ...]:
        return format_prices(self.row, self.volumes)


def item(priced: Priced) -> Json:
    """A title's row in a result."""
    prices = priced.prices
    return {
        "title_id": priced.row.title_id,
        "title": priced.name,
        "volumes": priced.volumes,
        "complete": priced.complete,
        "formats": [_format(price) for price in prices],
        "cheapest": {"per_volume": _named(cheapest_volume(prices)), "whole": _named(cheapest_whole(prices))},
        "as_of": priced.row.as_of,
    }


def comparison(titles: Sequence[Priced]) -> Json:
    """Which of several titles is cheapest to begin with and to own, where any can be had; nothing of one alone."""
    if len(titles) < 2:
        return {}
    found = {"cheapest_to_start": _least(titles, cheapest_start), "cheapest_complete": _least(titles, cheapest_whole)}
    return {"comparison": {name: best for name, best in found.items() if best is not None}}


def notes(titles: Sequence[Priced]) -> list[str]:
    """What to know of series that are not complete, or of which nobody knows how long they are."""
    so_far = any(each.complete is False and each.volumes for each in titles)
    uncounted = any(each.volumes is None for each in titles)
    return [SO_FAR] * so_far + [UNCOUNTED] * uncounted


def _format(price: FormatPrice) -> Json:
    return {
        "format": price.format,
        "per_volume_jpy": price.per_volume,
        "series_jpy": price.series,
        **(reduced(price.offer) if price.per_volume is not None else {}),
        **({"fixed_price": True} if price.format in FIXED else {}),
        "in_stock": price.available,
        **({"volumes_in_stock": price.volumes} if price.volumes is not None else {}),
        **({"saving": asdict(price.saving)} if price.saving else {}),
    }


def _named(buy: Buy | None) -> str | None:
    return None if buy is None else buy.format


def _least(titles: Sequence[Priced], cheapest: Callable[[Sequence[FormatPrice]], Buy | None]) -> Json | None:
    buys = [(each, buy) for each in titles if (buy := cheapest(each.prices)) is not None]
    if not buys:
        return None
    best, buy = min(buys, key=lambda pair: pair[1].jpy)
    return {"title_id": best.row.title_id, **asdict(buy)}
