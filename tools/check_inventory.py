"""check_inventory: which volumes of which titles can be bought now."""

from __future__ import annotations

from collections.abc import Sequence

from tools.contract import Fallback, Json, Tool, ToolContext
from tools.failures import DependencyFailure, InvalidArguments, NotFound, Violation
from tools.models import Availability
from tools.presentation import DIGITAL, in_stock, price
from tools.schemas import INTEGER, RESULT_SET, STRING, STRINGS, TITLE_ID, answer, arguments, listed, nullable, record

INPUT = arguments(
    {
        "title_ids": {
            "type": "array",
            "items": {"type": "string", "pattern": TITLE_ID},
            "minItems": 1,
            "maxItems": 20,
            "description": "Titles to check. Leave it out to check the results of the last search.",
        },
        "result_set": {
            "type": "string",
            "pattern": RESULT_SET,
            "description": "The result_set of a search, in place of title_ids.",
        },
    }
)

_ITEM = record(
    {
        "title_id": STRING,
        "availability": {
            "type": "string",
            "enum": ["in_stock", "partly_in_stock", "out_of_stock", "last_known"],
            "description": "last_known: the figures are from as_of and may have changed; do not promise them.",
        },
        "in_stock": nullable("boolean"),
        "price_jpy": nullable("integer"),
        "formats": listed(
            record({"format": STRING, "price_jpy": INTEGER, "stock": nullable("integer")}, ["format", "price_jpy"])
        ),
        "volumes_in_stock": nullable("integer"),
        "volumes_total": nullable("integer"),
        "missing_volumes": {"type": "array", "items": {"type": "integer"}, "description": "Paper volumes sold out."},
        "restock": listed(record({"volume": INTEGER, "date": STRING}, ["volume", "date"])),
        "upcoming": listed(record({"volume": INTEGER, "date": STRING}, ["volume", "date"]), "Not yet released."),
        "as_of": STRING,
    },
    ["title_id", "availability", "as_of"],
)

OUTPUT = answer(
    {
        "items": listed(_ITEM),
        "not_found": {**STRINGS, "description": "Ids that the store does not sell."},
        "unanswered": {**STRINGS, "description": "Ids that could not be checked in time; ask again for these alone."},
        "checked": {**STRING, "description": "Where the ids came from: title_ids, result_set or last_search."},
    },
    required=["items", "not_found", "unanswered"],
)


async def check(context: ToolContext, asked: Json) -> Json:
    ids, source = wanted(context, asked)
    reading = await context.store.stock.read(ids, context.deadline)
    context.served_from_cache = not reading.asked
    if reading.unanswered:
        context.degraded.add("stock")
    items = [item(reading.rows[i]) for i in ids if i in reading.rows]
    return _answer(items, list(reading.unknown), list(reading.unanswered), source)


async def snapshot(context: ToolContext, asked: Json) -> Json:
    ids, source = wanted(context, asked)
    known = context.store.stock.last_known(ids)
    if not known:
        raise DependencyFailure("Stock cannot be checked right now.", dependency="stock", retry_after_ms=1000)
    items = [item(row) | {"availability": "last_known", "in_stock": None} for row in known.values()]
    return _answer(items, [], [i for i in ids if i not in known], source)


def _answer(items: list[Json], not_found: list[str], unanswered: list[str], source: str) -> Json:
    return {"items": items, "not_found": not_found, "unanswered": unanswered, "checked": source}


def wanted(context: ToolContext, asked: Json) -> tuple[Sequence[str], str]:
    """The ids to check and where they are from. Raises `InvalidArguments` when there is nothing to check."""
    if "title_ids" in asked:
        return tuple(dict.fromkeys(asked["title_ids"])), "title_ids"
    if "result_set" in asked:
        if context.result_set is None:
            raise NotFound("That result_set is not known or has expired. Search again, or pass title_ids.")
        return context.result_set, "result_set"
    if not context.last_ids:
        raise InvalidArguments([NOTHING_TO_CHECK])
    return context.last_ids, "last_search"


NOTHING_TO_CHECK = Violation(
    "$.title_ids",
    "required",
    "there is no search in this conversation to refer to",
    "pass title_ids, or a result_set, or call search_manga_catalog first",
)


def both_named(asked: Json) -> list[Violation]:
    if "title_ids" in asked and "result_set" in asked:
        return [Violation("$", "not", "title_ids and result_set were both given", "give one of the two")]
    return []


def item(row: Availability) -> Json:
    printed = [volume for volume in row.volumes if volume.format != DIGITAL]
    paper = [volume for volume in printed if volume.release_date is None]
    missing = [volume.volume for volume in paper if volume.stock == 0]
    available = in_stock(row)
    return {
        "title_id": row.title_id,
        "availability": "out_of_stock" if not available else "partly_in_stock" if missing else "in_stock",
        "in_stock": available,
        "price_jpy": price(row.offers),
        "formats": [{"format": o.format, "price_jpy": o.price_jpy, "stock": o.stock} for o in row.offers],
        "volumes_in_stock": len(paper) - len(missing) if paper else None,
        "volumes_total": len(paper) or None,
        "missing_volumes": missing,
        "restock": [{"volume": v.volume, "date": v.restock_date} for v in paper if v.restock_date and not v.stock],
        "upcoming": [{"volume": v.volume, "date": v.release_date} for v in printed if v.release_date],
        "as_of": row.as_of,
    }


def summary(result: Json) -> str:
    if any(each.get("availability") == "last_known" for each in result["items"]):
        return f"{len(result['items'])} titles as last known"
    available = sum(1 for each in result["items"] if each["in_stock"])
    return f"{available} of {len(result['items'])} titles in stock"


TOOL = Tool(
    name="check_inventory",
    title="Check stock",
    description="Tells which of up to 20 titles can be bought now: price, formats, which volumes are missing and when they "
    "return. Without title_ids it checks the results of the last search in this conversation.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=check,
    check=both_named,
    timeout_ms=200,
    fallback=Fallback("cached_inventory_snapshot", snapshot),
    summary=summary,
    remembered=("title_ids", "result_set"),
    instead="get_manga_details shows whether a title is in stock.",
)
