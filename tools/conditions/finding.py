"""A `Want` to what the catalogue has of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tools.conditions.by_name import with_named
from tools.conditions.relaxing import relaxed
from tools.conditions.wanted import Want
from tools.conditions.word_by_word import word_by_word
from tools.contract import ToolContext
from tools.store.models import CatalogPage
from tools.store.search.query.themes import ThemeTable
from tools.store.search.reading.reading import Understood

UNHEARD = "nothing was found by {}"


@dataclass(frozen=True, slots=True)
class Found:
    """`want` as it was asked in the end, `let_go` the conditions that it was asked without, in words; `named` are the ids of
    what is there for its name alone."""

    page: CatalogPage
    want: Want
    let_go: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


async def find(context: ToolContext, want: Want, limit: int) -> Found:
    """At most `limit` titles from the want's offset. Where nothing satisfies the conditions, the cheapest is let go."""
    found = await with_named(context, want, await _page(context, want, limit), limit)
    page = found.page
    if (not page.total or page.guessed) and want.text and not want.like and want.offset == 0 and _states_more(want):
        plain = replace(want, text="")
        known = ThemeTable.load().themes(want.text)
        if not known and not page.near and (anyway := await _page(context, plain, limit)).total:
            unheard = Understood(UNHEARD.format(want.text), want.text, obeyed=False)
            return Found(anyway, replace(plain, understood=(*want.understood, unheard)))
    if not page.total or page.guessed:
        instead = await relaxed(context, want, limit)
        if instead is not None:
            return Found(instead.page, instead.want, instead.let_go)
        if not page.total and (by_words := await word_by_word(context, want, limit)) is not None:
            return Found(by_words, want)
    return Found(page, want, named=found.named)


def _states_more(want: Want) -> bool:
    """Whether words besides those that nothing is found by state conditions."""
    return any(each.obeyed and each.about for each in want.understood)


async def _page(context: ToolContext, want: Want, limit: int) -> CatalogPage:
    page = await context.store.catalog.search(want.query(limit), context.deadline)
    context.degraded.update(page.degraded)
    return page
