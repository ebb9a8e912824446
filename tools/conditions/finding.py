"""Finds titles in the catalogue for a search request (`Want`)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice, zip_longest

from tools.conditions.offers import SALE
from tools.conditions.wanted import Want
from tools.contract import Json, ToolContext
from tools.schema.parts import STRING, list_of, record
from tools.store.failures import BackendFailure
from tools.store.models import CatalogPage, CatalogQuery, Conditions, Title
from tools.store.search.conditions.check import Check, satisfies
from tools.store.search.conditions.wording import describe_condition
from tools.store.search.query.parser import whole_names
from tools.store.search.query.themes import ThemeTable
from tools.store.search.reading.reading import Understood
from tools.store.search.text.characters import normalise
from tools.store.search.text.readings import Dictionary
from tools.store.search.titles.names import names_of

LONGEST_SLIP = 3
"""Most words of a text that may be a misspelt name; longer texts are sentences."""
UNHEARD = "nothing was found by {}"


@dataclass(frozen=True, slots=True)
class Found:
    """A page of results. `want`: the request after any words or conditions were dropped; `dropped`: those conditions in
    words. `named`: ids of titles that satisfy only `Want.by_name`, and are shown because the text is their name."""

    page: CatalogPage
    want: Want
    dropped: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


async def find(context: ToolContext, want: Want, limit: int) -> Found:
    """Finds at most `limit` titles, from the request's offset on. If no title matches, or only one with a similar name,
    tries in turn, as far as each step applies: without the search words; without one or two conditions
    (`relax_conditions`); each theme of the text alone; without the words and one or two conditions. Raises
    `BackendFailure` if the catalogue fails."""
    found = await with_named(context, want, await _page(context, want, limit), limit)
    found = replace(found, page=await with_each_named(context, want, found.page, limit))
    page = found.page
    if (
        (not page.total or page.guessed)
        and want.text
        and not want.like
        and want.offset == 0
        and (want.conditions.tags or _states_more(want))
    ):
        plain = _drop_words(want)
        known = () if want.conditions.tags else ThemeTable.load().themes(want.text)
        named = page.near and _may_be_misspelt(want.text)
        if not known and not named and (anyway := await _page(context, plain, limit)).total:
            return Found(anyway, plain)
    if not page.total or page.guessed:
        instead = await relax_conditions(context, want, limit)
        if instead is not None:
            return instead
        if not page.total and (by_words := await search_each_theme(context, want, limit)) is not None:
            return Found(by_words, want)
        if not page.total and want.text and len(want.conditions.tags) > 1:
            less = await relax_conditions(context, _drop_words(want), limit)
            if less is not None:
                return less
    return found


def _drop_words(want: Want) -> Want:
    unheard = Understood(UNHEARD.format(want.text), want.text, obeyed=False)
    return replace(want, text="", understood=(*want.understood, unheard))


def _states_more(want: Want) -> bool:
    """True if some words of the text were read as a condition on titles, besides the words to search for."""
    return any(each.obeyed and each.about for each in want.understood)


async def _page(context: ToolContext, want: Want, limit: int) -> CatalogPage:
    page = await context.store.catalog.search(want.query(limit), context.deadline)
    context.degraded.update(page.degraded)
    return page


LONGEST_NAME = 80
"""Most characters of a text that may be a title's name."""


async def with_named(context: ToolContext, want: Want, page: CatalogPage, limit: int) -> Found:
    """Adds titles that satisfy `want.by_name` but not `want.conditions`, and whose name is the whole text: before the
    page, or in place of a guessed page. Returns the page unchanged if its first title has that name, if there is no
    `by_name`, or if the catalogue fails."""
    named = page.titles and has_name(page.titles[0], want.text)
    if want.by_name is None or not 0 < len(want.text) <= LONGEST_NAME or named:
        return Found(page, want)
    with suppress(BackendFailure):  # the page is an answer without these titles too
        if ids := await _find_lifted(context, want):
            return await _put_named_first(context, want, want.by_name, page, ids, limit)
    return Found(page, want)


MOST_NAMED = 5
"""Most titles shown because one query names them."""


async def with_each_named(context: ToolContext, want: Want, page: CatalogPage, limit: int) -> CatalogPage:
    """Puts the titles that the text lists by name ("NARUTO or BLEACH"), if they satisfy the conditions, first on the
    page. Leaves the page as it is for a request with an offset, a comparison or conditions of sale, or if reading fails."""
    if len(want.named) < 2 or want.like or want.offset or any(getattr(want.conditions, name) for name in SALE):
        return page
    with suppress(BackendFailure):  # the page is an answer without these titles too
        titles = (await context.store.titles.read(want.named[:MOST_NAMED], context.deadline)).titles
        asked = [titles[each] for each in want.named if each in titles and satisfies(titles[each], want.conditions)]
        others = () if page.guessed else (each for each in page.titles if each not in asked)
        if asked:
            first = (*asked, *others)[:limit]
            return replace(page, titles=first, total=max(0 if page.guessed else page.total, len(asked)), guessed=False)
    return page


def has_name(title: Title, text: str) -> bool:
    names = whole_names(text)
    return any(normalise(name) in names for name in names_of(title))


def _may_be_misspelt(text: str) -> bool:
    words, ordinary = normalise(text).split(), Dictionary.english_words()
    return len(words) <= LONGEST_SLIP and any(len(word) > 1 and word not in ordinary for word in words)


def _fits(lifted: Conditions, title: Title) -> bool:
    return satisfies(title, lifted.but(*SALE))


async def _find_lifted(context: ToolContext, want: Want) -> frozenset[str]:
    """Returns ids of the titles that the text names and that `want.lifted_conditions` exclude. If any of these is a
    condition of sale, returns ids of all titles named, since only live stock decides. Raises `BackendFailure`."""
    called = await context.store.catalog.match_names(whole_names(want.text), context.deadline)
    ids = [title_id for each in called.values() for title_id in each.title_ids]
    titles = (await context.store.titles.read(ids, context.deadline)).titles if ids else {}
    lifted = want.lifted_conditions
    costs = any(getattr(lifted, name) for name in SALE)
    return frozenset(title_id for title_id, title in titles.items() if costs or not _fits(lifted, title))


async def _put_named_first(
    context: ToolContext, want: Want, by_name: Conditions, page: CatalogPage, ids: frozenset[str], limit: int
) -> Found:
    """Adds titles in `ids` that satisfy `by_name` and are no results yet: before the page, or in place of a guessed page."""
    catalog, deadline = context.store.catalog, context.deadline
    first = replace(want, offset=0)
    found = (await catalog.search(replace(first, conditions=by_name).query(max(limit, len(ids))), deadline)).titles
    anyway = page if not want.offset else await catalog.search(first.query(max(limit, len(ids))), deadline)
    there = {title.title_id for title in anyway.titles}
    named = tuple(title for title in found if title.title_id in ids and title.title_id not in there)
    if not named:
        return Found(page, want)
    own = tuple(title.title_id for title in named)
    if page.guessed:
        page = replace(page, titles=named[want.offset :][:limit], total=len(named), guessed=False)
        return Found(page, want, named=own)
    if want.offset:
        page = await catalog.search(replace(want, offset=max(0, want.offset - len(named))).query(limit), deadline)
    titles = (*named[want.offset :], *page.titles)[:limit]
    return Found(replace(page, titles=titles, total=page.total + len(named)), want, named=own)


CHEAPEST_FIRST = (
    "min_rating",  # other readers' taste
    "magazines",  # the magazine says little about the content
    "years",
    "series_price",  # the customer can buy fewer volumes
    "price",
    "volumes",
    "statuses",
    "format",
    "genres",  # close to the subject
    "tags",  # the subject itself
)
"""Conditions that may be dropped, the least important to the customer first. A named author is never dropped."""
UNDROPPABLE = (
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
"""Conditions that are never dropped, not even for titles offered when nothing matches."""
MOST_SEARCHES = 3


async def relax_conditions(context: ToolContext, want: Want, limit: int) -> Found | None:
    """Searches without one condition, then without two, the least important first, until a title matches. Returns None if
    none does within `MOST_SEARCHES` searches, if no condition may be dropped, or if the catalogue fails."""
    for gone in islice(_list_droppable(want), MOST_SEARCHES):
        themes = tuple(each for each in want.conditions.tags if each not in gone.tags)
        without = replace(want, conditions=replace(want.conditions.but(*gone.stated), tags=themes))
        try:
            page = await context.store.catalog.search(without.query(limit), context.deadline)
        except BackendFailure:
            return None  # the answer is then that nothing matches
        if page.total and not page.guessed:
            names = [name for name in CHEAPEST_FIRST if getattr(gone, name)]
            return Found(page, without, tuple(describe_condition(name, gone, want.currency) for name in names))
    return None


def _list_droppable(want: Want) -> Iterator[Conditions]:
    """Yields the conditions to drop, in order: each alone, then pairs, the least important first. Without search text, each
    single theme comes before all themes together."""
    soft = [name for name in CHEAPEST_FIRST if getattr(want.conditions, name) and name not in want.firm]
    for names in chain(combinations(soft, 1), combinations(soft, 2)):
        if names == ("tags",) and not want.text and len(want.conditions.tags) > 1:
            yield from (Conditions(tags=(theme,)) for theme in want.conditions.tags)
        yield Conditions(**{name: getattr(want.conditions, name) for name in names})


MOST_THEMES = 3


async def search_each_theme(context: ToolContext, want: Want, limit: int) -> CatalogPage | None:
    """Searches for each theme of the text alone, and interleaves the titles found. Returns None if the request has an
    offset, if the text has fewer than two or over `MOST_THEMES` themes, if nothing is found, or if the catalogue fails."""
    words = list(dict.fromkeys(theme.phrase for theme in ThemeTable.load().themes(want.text)))
    if want.offset or not 1 < len(words) <= MOST_THEMES:
        return None
    queries = [CatalogQuery(word, want.conditions, limit) for word in words]
    try:
        pages = await asyncio.gather(*(context.store.catalog.search(query, context.deadline) for query in queries))
    except BackendFailure:
        return None
    fit = Check(want.conditions.but(*SALE))
    in_turn = chain.from_iterable(zip_longest(*map(_of_theme, pages)))
    titles = tuple(dict.fromkeys(title for title in in_turn if title is not None and fit.satisfied_by(title)))[:limit]
    return CatalogPage(titles, len(titles)) if titles else None


def _of_theme(page: CatalogPage) -> tuple[Title, ...]:
    """Returns the titles that match a theme; if none match, titles with similar names."""
    return page.titles if page.titles and not page.guessed else page.near


MOST_NEARLY = 3
CALLED = {"genres": "genre", "statuses": "status"}
"""Names of conditions in notes, by field of `Conditions`; other conditions are called by their field's name."""
TRY = "Try fewer or other words, the name in another script, or the author."
_TITLE = record({"title_id": STRING, "title": STRING}, ["title_id", "title"])
NEARLY: Json = {
    "nearly": list_of(_TITLE, "No matches: ask the customer."),
}


async def near_matches(context: ToolContext, want: Want, near: Sequence[Title]) -> Json:
    """Returns the fields `nearly` and `note` for a search without matches: titles that only droppable conditions exclude,
    else titles with similar names, else the note alone. All satisfy the customer's exclusions and audience."""
    kept = want.conditions.only(*UNDROPPABLE)
    if want.conditions != kept:
        query = CatalogQuery(want.text, kept, MOST_NEARLY, ordering=want.ordering)
        with suppress(BackendFailure):  # the names then are those that are similar
            page = await context.store.catalog.search(query, context.deadline)
            if page.titles and not page.guessed:
                return {"nearly": _list_names(page.titles), "note": _kept_out(want, page.total)}
    fit = Check(kept.but("in_stock", "all_volumes"))
    if near := [title for title in near if fit.satisfied_by(title)]:
        return {"nearly": _list_names(near), "note": f"Nothing matches. The nearest names are in nearly. {TRY}"}
    return {"note": f"Nothing matches. {TRY}"}


def _kept_out(want: Want, total: int) -> str:
    told = {name for each in want.understood for name in each.about}
    stated = [name for name in want.conditions.but(*UNDROPPABLE).stated if name != "tags" or name in told]
    names = [CALLED.get(name, name) for name in stated]
    titles = "1 title does: the one" if total == 1 else f"{total} titles do, such as those"
    return f"Nothing matches with this {' and '.join(names)}. Without, {titles} in nearly."


def _list_names(titles: Sequence[Title]) -> list[Json]:
    return [{"title_id": title.title_id, "title": title.display} for title in titles[:MOST_NEARLY]]
