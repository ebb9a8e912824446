"""compare_prices: what titles cost on paper, digitally and as a set, and which is cheapest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.contract import Fallback, Json, Tool, ToolContext
from tools.prices.compared import COMPARISON, ITEM, Priced, comparison, item, notes
from tools.results import worth
from tools.results.names import known_names
from tools.results.referred import Referred, both_named, referred
from tools.results.shared import one_title
from tools.schema.parts import RESULT_SET, STRING, STRINGS, answer, arguments, listed
from tools.store.failures import BackendFailure, DependencyFailure
from tools.store.identifiers import TITLE_ID
from tools.store.models import Availability, Title

MOST = 10

INPUT = arguments(
    {
        "title_ids": {
            "type": "array",
            "items": {"type": "string", "pattern": TITLE_ID},
            "maxItems": MOST,
            "description": "Without it: what was shown last.",
        },
        "result_set": {"type": "string", "pattern": RESULT_SET, "description": "In place of title_ids."},
    }
)
OUTPUT = answer(
    {
        "items": listed(ITEM),
        "comparison": COMPARISON,
        "not_found": STRINGS,
        "unanswered": STRINGS,
        "checked": STRING,
        "checked_query": STRING,
    },
    required=["items", "not_found", "unanswered"],
)


async def compare(context: ToolContext, asked: Json) -> Json:
    asked_for = referred(context, asked)
    ids = asked_for.ids[:MOST]
    reading = await context.store.stock.read(ids, context.deadline)
    context.served_from_cache = not reading.asked
    if reading.unanswered:
        context.degraded.add("stock")
    sold = [reading.rows[i] for i in ids if i in reading.rows]
    titles = await _titles(context, [row.title_id for row in sold])
    return _answer(context, asked_for, _priced(context, sold, titles), reading.unknown, reading.unanswered)


async def snapshot(context: ToolContext, asked: Json) -> Json:
    """By the prices as last known, with what the process remembers of the titles."""
    asked_for = referred(context, asked)
    ids = asked_for.ids[:MOST]
    known = context.store.stock.last_known(ids)
    if not known:
        raise DependencyFailure("Prices cannot be checked right now.", dependency="stock", retry_after_ms=1000)
    titles = _known(context, ids)
    answered = _answer(
        context,
        asked_for,
        _priced(context, list(known.values()), titles),
        unanswered=[i for i in ids if i not in known],
    )
    return answered | {"items": [_last_known(each) for each in answered["items"]]}


def _answer(
    context: ToolContext,
    asked_for: Referred,
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
    """The prices are what was asked for: whatever the titles' backends do, there is time left to tell them."""
    if not title_ids:
        return {}
    try:
        half = context.deadline.within(context.deadline.remaining() / 2)
        reading = await context.store.titles.read(title_ids, half)
    except BackendFailure:
        context.degraded.add("catalog")
        return _known(context, title_ids)
    if reading.from_records:
        context.degraded.add("catalog")
    context.store.names.note((title_id, title.display) for title_id, title in reading.titles.items())
    return reading.titles


def _known(context: ToolContext, title_ids: Sequence[str]) -> dict[str, Title]:
    popular = context.store.popular
    return {i: title for i in title_ids if (title := popular.known(i)) is not None}


def _priced(context: ToolContext, rows: Sequence[Availability], titles: Mapping[str, Title]) -> list[Priced]:
    names = known_names(context, [row.title_id for row in rows])
    return [Priced(row, titles.get(row.title_id), names.get(row.title_id)) for row in rows]


def _last_known(told: Json) -> Json:
    return told | {"availability": "last_known", "formats": [each | {"in_stock": None} for each in told["formats"]]}


def summary(result: Json) -> str:
    return f"prices of {len(result['items'])} titles"


TOOL = Tool(
    name="compare_prices",
    title="Compare prices",
    description="Tells what up to 10 titles cost on paper, digitally and as a complete set: a volume, the series, what a "
    "set saves, which is cheapest. Use it for questions of price; check_inventory tells which volumes are missing.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=compare,
    check=both_named,
    timeout_ms=300,
    fallback=Fallback("cached_inventory_snapshot", snapshot),
    summary=summary,
    remembered=("title_ids", "result_set"),
    shares=lambda result: one_title(result["items"]),
    default_on=False,
    sheds=worth.PRICES,
    instead="get_manga_details shows what a title costs in each format.",
)
