"""Where nothing is left: which condition to let go.

A bookseller without the very thing offers what comes nearest, and says where it differs. What costs a customer least goes
first; what was ruled out, who it is for and what can be had now never go, and neither does what an exact filter states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, islice

from tools.conditions.wanted import Want
from tools.contract import ToolContext
from tools.store.failures import BackendFailure
from tools.store.models import CatalogPage, Conditions
from tools.store.search.conditions.wording import describe_condition

CHEAPEST_FIRST = (
    "min_rating",  # others' taste
    "magazines",  # where it appeared says little of what it is
    "years",
    "series_price",  # fewer volumes can be bought
    "price",
    "volumes",
    "statuses",
    "format",
    "genres",  # near to what it is about
    "tags",  # what it is about
)
"""The conditions that may go. A named author is what was asked for, and stays."""
HARD = (
    "audience",
    "no_adult",
    "in_stock",
    "all_volumes",
    "without_tags",
    "without_genres",
    "without_authors",
    "without_magazines",
    "without_titles",
)
"""The conditions that hold even for what is only offered in place of an answer."""
MOST_SEARCHES = 3


@dataclass(frozen=True, slots=True)
class Relaxed:
    """What there is without some conditions; `let_go` says these in words. `want` is without them."""

    page: CatalogPage
    want: Want
    let_go: tuple[str, ...]


async def relaxed(context: ToolContext, want: Want, limit: int) -> Relaxed | None:
    """What there is without one condition, the cheapest that alone brings anything; else without two. None where nothing
    comes of it, in three searches and in time."""
    for names in islice(_to_let_go(want), MOST_SEARCHES):
        without = want.under(want.conditions.but(*names))
        try:
            page = await context.store.catalog.search(without.query(limit), context.deadline)
        except BackendFailure:
            return None  # that nothing was left is known already
        if page.total and not page.guessed:
            return Relaxed(page, without, tuple(describe_condition(name, want.conditions) for name in names))
    return None


def _to_let_go(want: Want) -> Iterator[tuple[str, ...]]:
    soft = [name for name in CHEAPEST_FIRST if getattr(want.conditions, name) and name not in want.firm]
    return chain(combinations(soft, 1), combinations(soft, 2))


def hard(conditions: Conditions) -> Conditions:
    """The conditions without those that may go."""
    return conditions.but(*(name for name in conditions.stated if name not in HARD))
