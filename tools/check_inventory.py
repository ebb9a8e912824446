"""check_inventory: which volumes of which titles can be bought now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tools.contract import Fallback, Json, Tool, ToolContext
from tools.results.inventory import ITEM, item
from tools.schema.parts import RESULT_SET, STRING, STRINGS, answer, arguments, listed
from tools.store.failures import DependencyFailure, InvalidArguments, NotFound, Violation
from tools.store.identifiers import TITLE_ID

INPUT = arguments(
    {
        "title_ids": {
            "type": "array",
            "items": {"type": "string", "pattern": TITLE_ID},
            "maxItems": 20,
            "description": "Titles to check. Leave it out to check what was shown last, by a search or by recommendations.",
        },
        "result_set": {
            "type": "string",
            "pattern": RESULT_SET,
            "description": "The result_set of a search or of recommendations, in place of title_ids.",
        },
    }
)

TITLE_IDS, NAMED_SET = "title_ids", "result_set"

OUTPUT = answer(
    {
        "items": listed(ITEM),
        "not_found": {**STRINGS, "description": "Ids that the store does not sell."},
        "unanswered": {**STRINGS, "description": "Ids that could not be checked in time; ask again for these alone."},
        "checked": {
            **STRING,
            "description": "Where the ids came from: title_ids, result_set, last_search or last_recommendations.",
        },
        "checked_query": {**STRING, "description": "What the last search or recommendations were asked for."},
    },
    required=["items", "not_found", "unanswered"],
)

NO_SUCH_IDS = "What is in not_found is no id of a title here. If it is a name, find its id with search_manga_catalog."
NAMES_SECONDS = 0.06
"""What an answer may wait for the names of titles that nobody has asked for lately."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The ids to check, none where what is referred to found nothing. `query` is what that was asked for."""

    ids: tuple[str, ...]
    source: str
    query: str | None = None

    def answer(self, items: list[Json], not_found: Iterable[str] = (), unanswered: Iterable[str] = ()) -> Json:
        told: Json = {"items": items, "not_found": list(not_found), "unanswered": list(unanswered), "checked": self.source}
        if self.query is not None:
            told["checked_query"] = self.query
        note = NO_SUCH_IDS if told["not_found"] else "" if self.ids else self._nothing()
        return told | {"note": note} if note else told

    def _nothing(self) -> str:
        asked = f" ({self.query})" if self.query else ""
        what = (
            "There is nothing in that result_set"
            if self.source == NAMED_SET
            else f"The {self.source.replace('_', ' ')}{asked} found nothing"
        )
        return f"{what}, so there is nothing to check. Search again in other words, or pass title_ids."


async def check(context: ToolContext, asked: Json) -> Json:
    asked_for = wanted(context, asked)
    reading = await context.store.stock.read(asked_for.ids, context.deadline)
    context.served_from_cache = not reading.asked
    if reading.unanswered:
        context.degraded.add("stock")
    names = await _names(context, list(reading.rows))
    items = [item(reading.rows[i], names) for i in asked_for.ids if i in reading.rows]
    return asked_for.answer(items, reading.unknown, reading.unanswered)


async def snapshot(context: ToolContext, asked: Json) -> Json:
    asked_for = wanted(context, asked)
    known = context.store.stock.last_known(asked_for.ids)
    if not known:
        raise DependencyFailure("Stock cannot be checked right now.", dependency="stock", retry_after_ms=1000)
    names = _known_names(context, known)
    items = [item(row, names) | {"availability": "last_known", "in_stock": None} for row in known.values()]
    return asked_for.answer(items, unanswered=[i for i in asked_for.ids if i not in known])


def _known_names(context: ToolContext, title_ids: Iterable[str]) -> dict[str, str]:
    ids, popular = list(title_ids), context.store.popular
    popular_ones = {i: title.display for i in ids if (title := popular.known(i)) is not None}
    return popular_ones | context.store.names.known(ids)


async def _names(context: ToolContext, title_ids: list[str]) -> Mapping[str, str]:
    """As far as they are known or come in half of the time that is left: stock is what was asked for."""
    known, store = _known_names(context, title_ids), context.store
    missing = [title_id for title_id in title_ids if title_id not in known]
    deadline = context.deadline.within(min(NAMES_SECONDS, context.deadline.remaining() / 2))
    return {**known, **await store.names.of(missing, store.titles, deadline)} if missing else known


def wanted(context: ToolContext, asked: Json) -> Wanted:
    """Raises `InvalidArguments` when nothing was named and nothing shown."""
    if asked.get(TITLE_IDS):
        return Wanted(tuple(dict.fromkeys(asked[TITLE_IDS])), TITLE_IDS)
    if NAMED_SET in asked:
        if context.result_set is None:
            raise NotFound("That result_set is not known or has expired. Search again, or pass title_ids.")
        return Wanted(context.result_set, NAMED_SET)
    last = context.last
    if last is None:
        raise InvalidArguments([NOTHING_TO_CHECK])
    return Wanted(last.title_ids, f"last_{last.by}", last.query)


NOTHING_TO_CHECK = Violation(
    "$.title_ids",
    "required",
    "nothing was shown in this conversation that this could refer to",
    "pass title_ids, or a result_set, or call search_manga_catalog first",
)


def both_named(asked: Json) -> list[Violation]:
    if asked.get(TITLE_IDS) and NAMED_SET in asked:
        return [Violation("$", "not", "title_ids and result_set were both given", "give one of the two")]
    return []


def summary(result: Json) -> str:
    if any(each.get("availability") == "last_known" for each in result["items"]):
        return f"{len(result['items'])} titles as last known"
    available = sum(1 for each in result["items"] if each["in_stock"])
    return f"{available} of {len(result['items'])} titles in stock"


TOOL = Tool(
    name="check_inventory",
    title="Check stock",
    description="Tells which of up to 20 titles can be bought now: price, formats, which volumes are missing and when they "
    "return. Without title_ids it checks what was shown last in this conversation, by a search or by recommendations.",
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
