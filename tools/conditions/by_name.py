"""Titles that are asked for by name although they would be left out unasked (they are for adults, or not to the taste that
is remembered): these and no others, before what is found besides."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from tools.conditions.offers import SALE
from tools.conditions.wanted import Want
from tools.contract import ToolContext
from tools.store.failures import BackendFailure
from tools.store.models import CatalogPage, Conditions, Title
from tools.store.search.conditions.check import satisfies
from tools.store.search.query.parser import whole_names
from tools.store.search.text.characters import normalise
from tools.store.search.titles.names import names_of

LONGEST_NAME = 80
"""Characters of a text that may be a name."""


@dataclass(frozen=True, slots=True)
class WithNamed:
    """A page, and the ids of those that are only there for their name."""

    page: CatalogPage
    named: tuple[str, ...] = ()


async def with_named(context: ToolContext, want: Want, page: CatalogPage, limit: int) -> WithNamed:
    """The page with the titles before it that the whole text is the name of. Not asked where the best answer goes by it
    anyway. Pages follow one another as if they had always stood there."""
    named = page.titles and goes_by(page.titles[0], want.text)
    if want.by_name is None or not _may_be_name(want.text) or named:
        return WithNamed(page)
    with suppress(BackendFailure):  # what was found without them is an answer
        if ids := await _called(context, want):
            return await _before(context, want, want.by_name, page, ids, limit)
    return WithNamed(page)


def goes_by(title: Title, text: str) -> bool:
    """Whether a text is, as it is written, one of the title's names, with or without words that only ask."""
    names = whole_names(text)
    return any(normalise(name) in names for name in names_of(title))


def _may_be_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_NAME


def _fits(lifted: Conditions, title: Title) -> bool:
    """What it costs is not known here, and does not count: those that it keeps out the search tells."""
    return satisfies(title, lifted.but(*SALE))


async def _called(context: ToolContext, want: Want) -> frozenset[str]:
    """Those that what is lifted keeps out, or may."""
    called = await context.store.catalog.match_names(whole_names(want.text), context.deadline)
    ids = [title_id for each in called.values() for title_id in each.title_ids]
    titles = (await context.store.titles.read(ids, context.deadline)).titles if ids else {}
    lifted = want.lifted
    costs = any(getattr(lifted, name) for name in SALE)
    return frozenset(title_id for title_id, title in titles.items() if costs or not _fits(lifted, title))


async def _before(
    context: ToolContext, want: Want, by_name: Conditions, page: CatalogPage, ids: frozenset[str], limit: int
) -> WithNamed:
    """Of these ids those that satisfy all else and are not found anyway, and the page after them."""
    catalog, deadline = context.store.catalog, context.deadline
    first = replace(want, offset=0)
    found = (await catalog.search(first.under(by_name).query(max(limit, len(ids))), deadline)).titles
    anyway = page if not want.offset else await catalog.search(first.query(max(limit, len(ids))), deadline)
    there = {title.title_id for title in anyway.titles}
    named = tuple(title for title in found if title.title_id in ids and title.title_id not in there)
    if not named:
        return WithNamed(page)
    own = tuple(title.title_id for title in named)
    if page.guessed:
        return WithNamed(replace(page, titles=named[want.offset :][:limit], total=len(named), guessed=False), own)
    if want.offset:
        page = await catalog.search(replace(want, offset=max(0, want.offset - len(named))).query(limit), deadline)
    titles = (*named[want.offset :], *page.titles)[:limit]
    return WithNamed(replace(page, titles=titles, total=page.total + len(named)), own)
