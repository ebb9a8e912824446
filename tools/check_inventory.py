"""check_inventory: which volumes of which titles can be bought now."""

from __future__ import annotations

from tools.contract import Fallback, Json, Tool, ToolContext
from tools.results import worth
from tools.results.inventory import ITEM, item
from tools.results.names import known_names, names_of
from tools.results.referred import both_named, referred
from tools.results.shared import one_title
from tools.schema.parts import RESULT_SET, STRING, STRINGS, answer, arguments, listed
from tools.store.failures import DependencyFailure
from tools.store.identifiers import TITLE_ID

INPUT = arguments(
    {
        "title_ids": {
            "type": "array",
            "items": {"type": "string", "pattern": TITLE_ID},
            "maxItems": 20,
            "description": "Left out: what was shown last.",
        },
        "result_set": {
            "type": "string",
            "pattern": RESULT_SET,
            "description": "The result_set of an earlier answer, in place of title_ids.",
        },
    }
)

OUTPUT = answer(
    {
        "items": listed(ITEM),
        "not_found": STRINGS,
        "unanswered": {**STRINGS, "description": "Ask again for these."},
        "checked": {**STRING, "description": "Where the ids came from."},
        "checked_query": STRING,
    },
    required=["items", "not_found", "unanswered"],
)


async def check(context: ToolContext, asked: Json) -> Json:
    asked_for = referred(context, asked)
    reading = await context.store.stock.read(asked_for.ids, context.deadline)
    context.served_from_cache = not reading.asked
    if reading.unanswered:
        context.degraded.add("stock")
    names = await names_of(context, list(reading.rows))
    items = [item(reading.rows[i], names) for i in asked_for.ids if i in reading.rows]
    return asked_for.answer(items, reading.unknown, reading.unanswered)


async def snapshot(context: ToolContext, asked: Json) -> Json:
    asked_for = referred(context, asked)
    known = context.store.stock.last_known(asked_for.ids)
    if not known:
        raise DependencyFailure("Stock cannot be checked right now.", dependency="stock", retry_after_ms=1000)
    names = known_names(context, known)
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
    description="Tells which of up to 20 titles can be bought now: price, formats, which volumes are missing and when they "
    "return. Without title_ids it checks what was shown last, by a search or by recommendations.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=check,
    check=both_named,
    timeout_ms=200,
    looks_up=True,
    fallback=Fallback("cached_inventory_snapshot", snapshot),
    summary=summary,
    remembered=("title_ids", "result_set"),
    shares=lambda result: one_title(result["items"]),
    sheds=worth.INVENTORY,
    instead="get_manga_details shows whether a title is in stock.",
)
