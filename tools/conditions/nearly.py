"""What to offer where nothing matches, and no one condition is to blame. No matches: the customer is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tools.conditions.relaxing import HARD, hard
from tools.conditions.wanted import Want
from tools.contract import Json, ToolContext
from tools.schema.parts import STRING, list_of, record
from tools.store.failures import BackendFailure
from tools.store.models import CatalogPage, Title
from tools.store.search.conditions.check import Check

MOST_NEARLY = 3
CALLED = {"genres": "genre", "statuses": "status"}
"""What a condition is called where it is not by its own name."""
TRY = "Try fewer or other words, the name in another script, or the author."
_TITLE = record({"title_id": STRING, "title": STRING}, ["title_id", "title"])
NEARLY: Json = {
    "nearly": list_of(_TITLE, "No matches: ask the customer."),
}
"""A property of an output schema."""


async def nearly(context: ToolContext, want: Want, near: Sequence[Title]) -> Json:
    """What to offer where nothing matches: what the conditions alone kept out, else titles with similar names. What was
    ruled out, and what is not for this audience, is not offered either."""
    kept = hard(want.conditions)
    if want.conditions != kept:
        page = await _without_filters(context, want.under(kept))
        if page is not None and page.titles and not page.guessed:
            return {"nearly": _named(page.titles), "note": _kept_out(want, page.total)}
    fit = Check(kept.but("in_stock", "all_volumes"))
    if near := [title for title in near if fit.satisfied_by(title)]:
        return {"nearly": _named(near), "note": f"Nothing matches. The nearest names are in nearly. {TRY}"}
    return {"note": f"Nothing matches. {TRY}"}


async def _without_filters(context: ToolContext, want: Want) -> CatalogPage | None:
    """None when the catalogue does not deliver: that nothing was found is known already."""
    try:
        return await context.store.catalog.search(replace(want, offset=0).query(MOST_NEARLY), context.deadline)
    except BackendFailure:
        return None


def _kept_out(want: Want, total: int) -> str:
    told = {name for each in want.understood for name in each.about}
    stated = [name for name in want.conditions.but(*HARD).stated if name != "tags" or name in told]
    names = [CALLED.get(name, name) for name in stated]
    titles = "1 title does: the one" if total == 1 else f"{total} titles do, such as those"
    return f"Nothing matches with this {' and '.join(names)}. Without, {titles} in nearly."


def _named(titles: Sequence[Title]) -> list[Json]:
    return [{"title_id": title.title_id, "title": title.display} for title in titles[:MOST_NEARLY]]
