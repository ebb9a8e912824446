from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from tools.contract import Fallback, Json, Tool, ToolContext
from tools.results import shortening as worth
from tools.results.referred import check_one_reference, resolve_titles, single_title, title_ids
from tools.results.rows import DIGITAL, OFFER, format_ranges, in_stock, list_offers, price, read_names, recall_names
from tools.schema.parts import (
    INTEGER,
    RESULT_SET,
    STRING,
    STRINGS,
    answer,
    argument,
    arguments,
    list_of,
    nullable,
    record,
)
from tools.store.failures import DependencyFailure
from tools.store.models import Availability, VolumeStock

_DATED = record({"volumes": STRING, "date": STRING}, ["volumes", "date"])
ITEM = record(
    {
        "title_id": STRING,
        "title": nullable("string"),
        "availability": {
            "type": "string",
            "enum": ["in_stock", "partly_in_stock", "digital_only", "out_of_stock", "last_known"],
            "description": "last_known: of as_of, promise nothing.",
        },
        "in_stock": nullable("boolean", "On paper, where printed."),
        "price_jpy": nullable("integer"),
        "formats": list_of(OFFER),
        "volumes_in_stock": nullable("integer"),
        "volumes_total": nullable("integer"),
        "missing_volumes": {"type": "array", "items": INTEGER},
        "restock": list_of(_DATED),
        "upcoming": list_of(_DATED),
        "as_of": STRING,
    },
    ["title_id", "availability"],
)


def item(row: Availability, names: Mapping[str, str]) -> Json:
    printed = [volume for volume in row.volumes if volume.format != DIGITAL]
    paper = [volume for volume in printed if not row.is_awaited(volume)]
    missing = [volume.volume for volume in paper if volume.stock == 0]
    available = in_stock(row)
    return {
        "title_id": row.title_id,
        "title": names.get(row.title_id),
        "availability": _availability(row, available=available, some_missing=bool(missing)),
        "in_stock": available,
        "price_jpy": price(row.offers),
        "formats": list_offers(row),
        "volumes_in_stock": len(paper) - len(missing) if paper else None,
        "volumes_total": len(paper) or None,
        "missing_volumes": missing,
        "restock": _group_by_date((volume, volume.restock_date) for volume in paper if not volume.stock),
        "upcoming": _group_by_date((volume, volume.release_date) for volume in printed if row.is_awaited(volume)),
        "as_of": row.as_of,
    }


def _availability(row: Availability, *, available: bool, some_missing: bool) -> str:
    """Returns `in_stock`, `partly_in_stock` (some volumes are sold out), `digital_only` or `out_of_stock`. `available` is
    also True for a title sold only as a download."""
    if available and any(offer.format != DIGITAL and offer.stock != 0 for offer in row.offers):
        return "partly_in_stock" if some_missing else "in_stock"
    digital = any(offer.format == DIGITAL and offer.stock != 0 for offer in row.offers)
    return "digital_only" if digital else "out_of_stock"


def _group_by_date(volumes: Iterable[tuple[VolumeStock, str | None]]) -> list[Json]:
    on: dict[str, list[int]] = defaultdict(list)
    for volume, date in volumes:
        if date is not None:
            on[date].append(volume.volume)
    return [{"volumes": format_ranges(on[date]), "date": date} for date in sorted(on)]


INPUT = arguments(
    {
        "title_ids": title_ids(most=20),
        "result_set": argument("string", "Of an earlier answer, in place of title_ids.", pattern=RESULT_SET),
    }
)
OUTPUT = answer(
    {
        "items": list_of(ITEM),
        "not_found": STRINGS,
        "unanswered": {**STRINGS, "description": "Ask again for these."},
        "checked": {**STRING, "description": "Where the ids came from."},
        "checked_query": STRING,
    },
    required=["items", "not_found", "unanswered"],
)


async def check(context: ToolContext, asked: Json) -> Json:
    asked_for = resolve_titles(context, asked)
    reading = await context.store.stock.read(asked_for.ids, context.deadline)
    context.served_from_cache = not reading.asked
    if reading.unanswered:
        context.degraded.add("stock")
    names = await read_names(context, list(reading.rows))
    items = [item(reading.rows[i], names) for i in asked_for.ids if i in reading.rows]
    return asked_for.answer(items, reading.unknown, reading.unanswered)


async def snapshot(context: ToolContext, asked: Json) -> Json:
    asked_for = resolve_titles(context, asked)
    known = context.store.stock.last_known(asked_for.ids)
    if not known:
        raise DependencyFailure("Stock cannot be checked right now.", dependency="stock", retry_after_ms=1000)
    names = recall_names(context, known)
    items = [item(row, names) | {"availability": "last_known", "in_stock": None} for row in known.values()]
    return asked_for.answer(items, unanswered=[i for i in asked_for.ids if i not in known])


def summary(result: Json) -> str:
    if any(each.get("availability") == "last_known" for each in result["items"]):
        return f"{len(result['items'])} titles as last known"
    available = sum(1 for each in result["items"] if each["in_stock"])
    return f"{available} of {len(result['items'])} titles in stock"


TOOL = Tool(
    name="check_inventory",
    title="Check stock",
    description="Tells which of up to 20 titles can be bought now: price, formats, missing volumes and when they return. "
    "Call it before you promise stock.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=check,
    check=check_one_reference,
    timeout_ms=200,
    looks_up=True,
    fallback=Fallback("cached_inventory_snapshot", snapshot),
    summary=summary,
    remembered=("title_ids", "result_set"),
    shares=lambda result: single_title(result["items"]),
    leaves=("title_id", "title"),
    reads=("title_id", "title"),
    sheds=worth.INVENTORY,
    instead="get_manga_details shows whether a title is in stock.",
)
