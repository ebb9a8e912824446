from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tools.contract import Fallback, Json, Tool, ToolContext
from tools.results import shortening as worth
from tools.results.referred import TitleReference, check_one_reference, resolve_titles, single_title, title_ids
from tools.results.rows import CAMPAIGN, describe_reduction, read_titles, recall_names, recall_titles
from tools.schema.parts import (
    INTEGER,
    RESULT_SET,
    STRING,
    STRINGS,
    answer,
    argument,
    arguments,
    join_notes,
    list_of,
    nullable,
    record,
)
from tools.store.failures import BackendFailure, DependencyFailure
from tools.store.models import DIGITAL, PAPER, SET, USED_SET, WHOLE, Availability, Offer, Status, Title, VolumeStock
from tools.store.models.offer import FIXED, new_set_price, offer_of
from tools.store.search.conditions.check import status_of

USED = "The volumes are used; new ones have a fixed price."
PUBLISHERS = "The publisher sells the set at a price of its own."
FIXED_PRICE = "New volumes have a fixed price: together they cost as much as singly."


def saving_of(offer: Offer, singles: int | None) -> Json | None:
    """Returns the saving of a set as a `_SAVING`: against `singles`, the price of all its volumes bought new one by one
    on paper, with a sentence that explains it. Returns None if `singles` is unknown or 0. Rounds `percent` down."""
    if not singles:
        return None
    if offer.format != USED_SET and offer.list_price_jpy is None:
        saved, why = 0, FIXED_PRICE
    else:
        saved, why = max(0, singles - offer.price_jpy), USED if offer.format == USED_SET else PUBLISHERS
    return {"jpy": saved, "percent": 100 * saved // singles, "why": why, "against": PAPER}


@dataclass(frozen=True, slots=True)
class FormatPrice:
    """Prices of a title in one format, None if unknown. `per_volume`: lowest price of a volume. `series`: price of all
    volumes, the only price of a set. Of what can be bought now (released and in stock), `volume_now` is the lowest price of
    a volume, `first_now` the price of volume 1, and `series_now` that of all volumes; None if not. `volumes`: number
    of volumes in stock, None if the store does not count stock by volume. `saving`: result of `saving_of`, for a set."""

    title_id: str
    offer: Offer
    per_volume: int | None
    series: int | None
    volume_now: int | None = None
    first_now: int | None = None
    series_now: int | None = None
    volumes: int | None = None
    saving: Json | None = None

    @property
    def format(self) -> str:
        return self.offer.format

    @property
    def is_available(self) -> bool:
        """True if at least one volume can be bought now."""
        return self.volume_now is not None or self.series_now is not None


def format_prices(row: Availability, volumes: int | None) -> tuple[FormatPrice, ...]:
    """Returns the prices of each offer, in the order paper, digital, set, used set. `volumes`: number of volumes of the
    title, None if unknown."""
    single = [_by_volume(offer, row, volumes) for offer in row.offers if offer.format not in WHOLE]
    singles = next((price.series for price in single if price.format == PAPER), None)
    whole = [_price_of_set(offer, row, singles) for offer in row.offers if offer.format in WHOLE]
    rank = {name: place for place, name in enumerate((PAPER, DIGITAL, SET, USED_SET))}
    return tuple(sorted((*single, *whole), key=lambda price: rank.get(price.format, len(rank))))


def _by_volume(offer: Offer, row: Availability, volumes: int | None) -> FormatPrice:
    price = offer.price_jpy
    counted = [volume for volume in row.volumes if volume.format == offer.format]
    if not counted:
        series = _times(price, volumes)
        if not _has_stock(offer):
            return FormatPrice(row.title_id, offer, price, series)
        return FormatPrice(row.title_id, offer, price, series, volume_now=price, first_now=price, series_now=series)
    out = [volume for volume in counted if not row.is_awaited(volume)]
    there, series = [volume for volume in out if volume.stock], _sum(out, volumes) if out else _times(price, volumes)
    return FormatPrice(
        row.title_id,
        offer,
        price,
        series,
        volume_now=offer_of(offer.format, there).price_jpy if there else None,
        first_now=next((volume.price_jpy for volume in there if volume.volume == 1), None),
        series_now=series if len(there) == len(out) >= (volumes or 0) else None,
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


def _price_of_set(offer: Offer, row: Availability, singles: int | None) -> FormatPrice:
    price = new_set_price(offer, singles) if offer.format == SET and singles is not None else offer.price_jpy
    now, as_sold = price if _has_stock(offer) else None, replace(offer, price_jpy=price)
    return FormatPrice(row.title_id, as_sold, None, price, series_now=now, saving=saving_of(as_sold, singles))


def _has_stock(offer: Offer) -> bool:
    return offer.stock is None or offer.stock > 0


def cheapest(prices: Iterable[FormatPrice], name: Literal["volume_now", "first_now", "series_now"]) -> Json | None:
    """Returns the lowest of the prices in the field `name` as a `_BUY`, the first of equal ones; None if all are None."""
    buys = [
        {"title_id": each.title_id, "format": each.format, "jpy": jpy}
        for each in prices
        if (jpy := getattr(each, name)) is not None
    ]
    return min(buys, key=lambda buy: buy["jpy"], default=None)


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


def item(
    row: Availability, title: Title | None, name: str | None, volumes: int | None, prices: Sequence[FormatPrice]
) -> Json:
    status = status_of(title) if title else None
    volume, whole = cheapest(prices, "volume_now"), cheapest(prices, "series_now")
    return {
        "title_id": row.title_id,
        "title": name,
        "volumes": volumes,
        "complete": None if status is None else status is Status.FINISHED,
        "formats": [_format(price) for price in prices],
        "cheapest": {"per_volume": volume and volume["format"], "whole": whole and whole["format"]},
        "as_of": row.as_of,
    }


def _format(price: FormatPrice) -> Json:
    return {
        "format": price.format,
        "per_volume_jpy": price.per_volume,
        "series_jpy": price.series,
        **(describe_reduction(price.offer) if price.per_volume is not None else {}),
        **({"fixed_price": True} if price.format in FIXED else {}),
        "in_stock": price.is_available,
        **({"volumes_in_stock": price.volumes} if price.volumes is not None else {}),
        **({"saving": price.saving} if price.saving else {}),
    }


def price_titles(rows: Iterable[Availability], titles: Mapping[str, Title], names: Mapping[str, str]) -> Json:
    """Returns the `items` of a result and, if there are several, their `comparison`. `titles` and `names`: by title_id, as
    far as known."""
    items, all_prices = list[Json](), list[FormatPrice]()
    for row in rows:
        title = titles.get(row.title_id)
        volumes = (title.volumes or None) if title else None  # a recorded 0 counts as unknown, since the title is sold
        prices = format_prices(row, volumes)
        items.append(item(row, title, names.get(row.title_id), volumes, prices))
        all_prices += prices
    if len(items) < 2:
        return {"items": items}
    start, whole = cheapest(all_prices, "first_now"), cheapest(all_prices, "series_now")
    comparison = {"cheapest_to_start": start, "cheapest_complete": whole}
    return {"items": items, "comparison": {way: best for way, best in comparison.items() if best is not None}}


MOST = 10
INPUT = arguments(
    {
        "title_ids": title_ids(MOST),
        "result_set": argument("string", "In place of title_ids.", pattern=RESULT_SET),
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
    titles = await _read_or_recall(context, [row.title_id for row in sold])
    return _answer(context, asked_for, sold, titles, reading.unknown, reading.unanswered)


async def snapshot(context: ToolContext, asked: Json) -> Json:
    asked_for = resolve_titles(context, asked)
    ids = asked_for.ids[:MOST]
    known = context.store.stock.last_known(ids)
    if not known:
        raise DependencyFailure("Prices cannot be checked right now.", dependency="stock", retry_after_ms=1000)
    missing = [i for i in ids if i not in known]
    answered = _answer(context, asked_for, known.values(), recall_titles(context, ids), unanswered=missing)
    items = [
        row | {"availability": "last_known", "formats": [each | {"in_stock": None} for each in row["formats"]]}
        for row in answered["items"]
    ]
    return answered | {"items": items}


def _answer(
    context: ToolContext,
    asked_for: TitleReference,
    rows: Collection[Availability],
    titles: Mapping[str, Title],
    unknown: Sequence[str] = (),
    unanswered: Sequence[str] = (),
) -> Json:
    priced = price_titles(rows, titles, recall_names(context, [row.title_id for row in rows]))
    items = priced["items"]
    told = asked_for.answer(items, unknown, unanswered) | priced
    left = len(asked_for.ids) - MOST
    return told | join_notes(
        told.get("note"),
        f"These are the first {MOST}; pass the ids of the other {left} as title_ids." if left > 0 else None,
        SO_FAR if any(each["complete"] is False and each["volumes"] for each in items) else None,
        UNCOUNTED if any(each["volumes"] is None for each in items) else None,
    )


async def _read_or_recall(context: ToolContext, ids: Sequence[str]) -> Mapping[str, Title]:
    """Returns the titles with these ids, by id. Reads them within half of the remaining time, so that a slow catalogue
    cannot use up the time of the prices. If the catalogue fails, returns only those that are popular, and therefore in
    memory, and adds "catalog" to `degraded`."""
    if not ids:
        return {}
    try:
        titles = await read_titles(context, ids, context.deadline.within(context.deadline.remaining() / 2))
    except BackendFailure:
        context.degraded.add("catalog")
        return recall_titles(context, ids)
    for title_id, title in titles.items():
        context.store.names.note(title_id, title.display, title.ja)
    return titles


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
