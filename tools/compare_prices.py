from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from tools.contract import Fallback, Json, Tool, ToolContext
from tools.results import shortening as worth
from tools.results.referred import TitleReference, check_one_reference, resolve_titles, single_title
from tools.results.rows import CAMPAIGN, describe_reduction, recall_names
from tools.schema.parts import INTEGER, RESULT_SET, STRING, STRINGS, answer, arguments, list_of, nullable, record
from tools.store.failures import BackendFailure, DependencyFailure
from tools.store.identifiers import TITLE_ID
from tools.store.models import DIGITAL, PAPER, SET, USED_SET, WHOLE, Availability, Offer, Status, Title, VolumeStock
from tools.store.models.offer import FIXED, new_set_price
from tools.store.search.conditions.check import status_of

USED = "The volumes are used; new ones have a fixed price."
PUBLISHERS = "The publisher sells the set at a price of its own."
FIXED_PRICE = "New volumes have a fixed price: together they cost as much as singly."


@dataclass(frozen=True, slots=True)
class Saving:
    """The saving of a set against all single volumes in the format `against`: `jpy` in the currency's smallest unit,
    `percent` rounded down, both at least 0. `why`: the reason, a sentence for the model."""

    jpy: int
    percent: int
    why: str
    against: str = PAPER


def saving_of(offer: Offer, singles: int | None) -> Saving | None:
    """Returns the set's saving against `singles`, the price of all its volumes bought new one by one; None if that is
    unknown or 0."""
    if not singles:
        return None
    if offer.format != USED_SET and offer.list_price_jpy is None:
        return Saving(0, 0, FIXED_PRICE)
    saved = max(0, singles - offer.price_jpy)
    return Saving(saved, 100 * saved // singles, USED if offer.format == USED_SET else PUBLISHERS)


@dataclass(frozen=True, slots=True)
class FormatPrice:
    """Prices of a title in one format (None if unknown), and whether it can be bought now. `per_volume`: lowest price of a
    volume. `first`: price of volume 1. `series`: price of all volumes, the only price of a set. `available`: at least one
    volume can be bought now; `begins`: volume 1 can; `whole`: all can. `volumes`: number of volumes in stock; None if the
    store does not count stock by volume. `saving`: of a set; None for other formats."""

    offer: Offer
    per_volume: int | None
    first: int | None
    series: int | None
    available: bool
    begins: bool
    whole: bool
    volumes: int | None = None
    saving: Saving | None = None

    @property
    def format(self) -> str:
        return self.offer.format


def format_prices(row: Availability, volumes: int | None) -> tuple[FormatPrice, ...]:
    """Returns the prices of each offer, in the order paper, digital, set, used set. `volumes`: number of volumes of the
    title, None if unknown."""
    single = [_by_volume(offer, row, volumes) for offer in row.offers if offer.format not in WHOLE]
    singles = next((price.series for price in single if price.format == PAPER), None)
    whole = [_price_of_set(offer, singles) for offer in row.offers if offer.format in WHOLE]
    rank = {name: place for place, name in enumerate((PAPER, DIGITAL, SET, USED_SET))}
    return tuple(sorted((*single, *whole), key=lambda price: rank.get(price.format, len(rank))))


def _by_volume(offer: Offer, row: Availability, volumes: int | None) -> FormatPrice:
    out = [volume for volume in row.volumes if volume.format == offer.format and not row.is_awaited(volume)]
    if not out:
        left, series = _has_stock(offer), _times(offer.price_jpy, volumes)
        return FormatPrice(offer, offer.price_jpy, offer.price_jpy, series, left, left, left)
    there = [volume for volume in out if volume.stock]
    first = next((volume for volume in out if volume.volume == 1), None)
    return FormatPrice(
        offer,
        offer.price_jpy,
        first.price_jpy if first else None,
        _sum(out, volumes),
        available=bool(there),
        begins=first in there,
        whole=len(there) == len(out) >= (volumes or 0),
        volumes=len(there),
    )


def _times(price: int, volumes: int | None) -> int | None:
    """Returns `price` times `volumes`. Returns None if `volumes` is unknown, or if the price is 0 and there are several
    volumes, of which usually only the first is free."""
    return None if volumes is None or (price == 0 and volumes > 1) else price * volumes


def _sum(out: Sequence[VolumeStock], volumes: int | None) -> int | None:
    """Returns the price of all `volumes`: the sum of the released volumes `out` if there are as many, else their common
    price times `volumes`. Returns None if their prices differ, or where `_times` does."""
    if len(out) == volumes:
        return sum(volume.price_jpy for volume in out)
    prices = {volume.price_jpy for volume in out}
    return _times(prices.pop(), volumes) if len(prices) == 1 else None


def _price_of_set(offer: Offer, singles: int | None) -> FormatPrice:
    price = new_set_price(offer, singles) if offer.format == SET and singles is not None else offer.price_jpy
    left, as_sold = _has_stock(offer), replace(offer, price_jpy=price)
    return FormatPrice(as_sold, None, None, price, left, begins=False, whole=left, saving=saving_of(as_sold, singles))


def _has_stock(offer: Offer) -> bool:
    return offer.stock is None or offer.stock > 0


Buy = tuple[str, int]
"""(format, price in the currency's smallest unit) of an offer that can be bought now."""


def cheapest_volume(prices: Sequence[FormatPrice]) -> Buy | None:
    return _least((each.format, each.per_volume) for each in prices if each.available)


def cheapest_start(prices: Sequence[FormatPrice]) -> Buy | None:
    return _least((each.format, each.first) for each in prices if each.begins)


def cheapest_whole(prices: Sequence[FormatPrice]) -> Buy | None:
    return _least((each.format, each.series) for each in prices if each.whole)


def _least(buys: Iterable[tuple[str, int | None]]) -> Buy | None:
    return min(((name, jpy) for name, jpy in buys if jpy is not None), key=lambda buy: buy[1], default=None)


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
        "formats": list_of(_FORMAT),
        "cheapest": {"type": "object", "description": "The format, of what can be bought now: per_volume, whole."},
        "availability": STRING,
        "as_of": STRING,
    },
    ["title_id", "formats"],
)
COMPARISON = record({"cheapest_to_start": _BUY, "cheapest_complete": _BUY}, [])
SO_FAR = "If complete is false the series goes on or was broken off: series_jpy is the price of its volumes so far."
UNCOUNTED = "If volumes is null their number is unknown, so the price of all is null too."


@dataclass(frozen=True, slots=True)
class Priced:
    """A title's stock record `row`, its catalogue record `title` (None if it could not be read) and its `name` (None if
    unknown)."""

    row: Availability
    title: Title | None
    name: str | None

    @property
    def volumes(self) -> int | None:
        """Number of volumes; None if unknown. A recorded 0 counts as unknown, since the title is sold."""
        return (self.title.volumes or None) if self.title else None

    @property
    def complete(self) -> bool | None:
        status = status_of(self.title) if self.title else None
        return None if status is None else status is Status.FINISHED

    @property
    def prices(self) -> tuple[FormatPrice, ...]:
        return format_prices(self.row, self.volumes)


def item(priced: Priced) -> Json:
    prices = priced.prices
    volume, whole = cheapest_volume(prices), cheapest_whole(prices)
    return {
        "title_id": priced.row.title_id,
        "title": priced.name,
        "volumes": priced.volumes,
        "complete": priced.complete,
        "formats": [_format(price) for price in prices],
        "cheapest": {"per_volume": volume and volume[0], "whole": whole and whole[0]},
        "as_of": priced.row.as_of,
    }


def comparison(titles: Sequence[Priced]) -> Json:
    if len(titles) < 2:
        return {}
    ways = {"cheapest_to_start": cheapest_start, "cheapest_complete": cheapest_whole}
    found = {name: _cheapest_of(titles, cheapest) for name, cheapest in ways.items()}
    return {"comparison": {name: best for name, best in found.items() if best is not None}}


def notes(titles: Sequence[Priced]) -> list[str]:
    so_far = any(each.complete is False and each.volumes for each in titles)
    uncounted = any(each.volumes is None for each in titles)
    return [SO_FAR] * so_far + [UNCOUNTED] * uncounted


def _format(price: FormatPrice) -> Json:
    return {
        "format": price.format,
        "per_volume_jpy": price.per_volume,
        "series_jpy": price.series,
        **(describe_reduction(price.offer) if price.per_volume is not None else {}),
        **({"fixed_price": True} if price.format in FIXED else {}),
        "in_stock": price.available,
        **({"volumes_in_stock": price.volumes} if price.volumes is not None else {}),
        **({"saving": asdict(price.saving)} if price.saving else {}),
    }


def _cheapest_of(titles: Sequence[Priced], cheapest: Callable[[Sequence[FormatPrice]], Buy | None]) -> Json | None:
    buys = [(buy, each) for each in titles if (buy := cheapest(each.prices)) is not None]
    if not buys:
        return None
    (name, jpy), best = min(buys, key=lambda pair: pair[0][1])
    return {"title_id": best.row.title_id, "format": name, "jpy": jpy}


MOST = 10
INPUT = arguments(
    {
        "title_ids": {
            "type": "array",
            "items": {"type": "string", "pattern": TITLE_ID},
            "maxItems": MOST,
            "description": "Default: the titles shown last.",
        },
        "result_set": {"type": "string", "pattern": RESULT_SET, "description": "In place of title_ids."},
    }
)
OUTPUT = answer(
    {
        "items": list_of(ITEM),
        "comparison": COMPARISON,
        "not_found": STRINGS,
        "unanswered": STRINGS,
        "checked": STRING,
        "checked_query": STRING,
    },
    required=["items", "not_found", "unanswered"],
)


async def compare(context: ToolContext, asked: Json) -> Json:
    asked_for = resolve_titles(context, asked)
    ids = asked_for.ids[:MOST]
    reading = await context.store.stock.read(ids, context.deadline)
    context.served_from_cache = not reading.asked
    if reading.unanswered:
        context.degraded.add("stock")
    sold = [reading.rows[i] for i in ids if i in reading.rows]
    titles = await _titles(context, [row.title_id for row in sold])
    return _answer(asked_for, _price_rows(context, sold, titles), reading.unknown, reading.unanswered)


async def snapshot(context: ToolContext, asked: Json) -> Json:
    asked_for = resolve_titles(context, asked)
    ids = asked_for.ids[:MOST]
    known = context.store.stock.last_known(ids)
    if not known:
        raise DependencyFailure("Prices cannot be checked right now.", dependency="stock", retry_after_ms=1000)
    priced = _price_rows(context, list(known.values()), _find_known(context, ids))
    answered = _answer(asked_for, priced, unanswered=[i for i in ids if i not in known])
    items = [
        row | {"availability": "last_known", "formats": [each | {"in_stock": None} for each in row["formats"]]}
        for row in answered["items"]
    ]
    return answered | {"items": items}


def _answer(
    asked_for: TitleReference,
    titles: Sequence[Priced],
    unknown: Sequence[str] = (),
    unanswered: Sequence[str] = (),
) -> Json:
    told = asked_for.answer([item(each) for each in titles], unknown, unanswered) | comparison(titles)
    left = len(asked_for.ids) - MOST
    said = [
        told.get("note"),
        f"These are the first {MOST}; pass the ids of the other {left} as title_ids." if left > 0 else None,
        *notes(titles),
    ]
    note = " ".join(filter(None, said))
    return told | {"note": note} if note else told


async def _titles(context: ToolContext, title_ids: Sequence[str]) -> Mapping[str, Title]:
    """Reads the records by id, within half of the remaining time, so that a slow catalogue does not cost the prices already
    read. If it fails, returns those of popular titles, and adds "catalog" to `degraded`."""
    if not title_ids:
        return {}
    try:
        half = context.deadline.within(context.deadline.remaining() / 2)
        reading = await context.store.titles.read(title_ids, half)
    except BackendFailure:
        context.degraded.add("catalog")
        return _find_known(context, title_ids)
    if reading.from_records:
        context.degraded.add("catalog")
    context.store.names.note((title_id, title.display) for title_id, title in reading.titles.items())
    return reading.titles


def _find_known(context: ToolContext, title_ids: Sequence[str]) -> dict[str, Title]:
    popular = context.store.popular
    return {i: title for i in title_ids if (title := popular.index.by_id.get(i)) is not None}


def _price_rows(context: ToolContext, rows: Sequence[Availability], titles: Mapping[str, Title]) -> list[Priced]:
    names = recall_names(context, [row.title_id for row in rows])
    return [Priced(row, titles.get(row.title_id), names.get(row.title_id)) for row in rows]


TOOL = Tool(
    name="compare_prices",
    title="Compare prices",
    description="Compares what up to 10 titles cost on paper, digitally and as a set: a volume, the series, what a set "
    "saves, which is cheapest. Call it for questions of price.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=compare,
    check=check_one_reference,
    timeout_ms=300,
    fallback=Fallback("cached_inventory_snapshot", snapshot),
    summary=lambda result: f"prices of {len(result['items'])} titles",
    remembered=("title_ids", "result_set"),
    shares=lambda result: single_title(result["items"]),
    leaves=("title_id", "title"),
    reads=("title_id", "title"),
    default_on=False,
    sheds=worth.PRICES,
    instead="get_manga_details shows what a title costs in each format.",
)
