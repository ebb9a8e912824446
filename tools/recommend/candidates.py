"""Titles for a wish and a customer: search results in the order of taste, else titles by taste alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tools.conditions.finding import find, relax_conditions, word_by_word
from tools.contract import ToolContext
from tools.recommend.excluded import Excluded
from tools.recommend.taste import CustomerTaste, reader_of
from tools.recommend.wish import Wish
from tools.store.failures import BackendFailure
from tools.store.models import ReaderQuery, Title

CANDIDATES = 60
SLOPE = 5.0
"""The place in a search's order that fits half as well as the first."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Titles of a search, best first. `let_go`: the dropped conditions, in words; `wish` is without them."""

    titles: tuple[Title, ...]
    wish: Wish
    let_go: tuple[str, ...] = ()


async def search_candidates(context: ToolContext, wish: Wish) -> Hits:
    """Nothing where there is nothing to search by. What is like one title the search knows better than taste, which takes a
    single title for a whole shelf: its magazine and its years then say as much as what it is about."""
    if wish.like_one:
        found = await find(context, replace(wish.want, offset=0), CANDIDATES)
        return Hits(() if found.page.guessed or found.let_go else found.page.titles, wish)
    if not wish.search:
        return Hits((), wish)
    found = await find(context, replace(wish.want, text=wish.search, offset=0), CANDIDATES)
    if found.page.titles and not found.page.guessed and found.want.text == wish.search:
        return Hits(found.page.titles, wish.with_want(found.want), found.let_go)
    page = await word_by_word(context, replace(wish.want, text=wish.search), CANDIDATES)
    return Hits(() if page is None else page.titles, wish)


async def candidates(
    context: ToolContext, hits: Hits, customer: CustomerTaste, excluded: Excluded, count: int
) -> tuple[tuple[Title, ...], Hits]:
    """The best titles first, without excluded ones; fewer than `count` only if no more exist. The returned hits have fewer
    conditions if none satisfied all."""
    found: dict[str, Title] = {}
    for query in _queries(hits, customer):
        if len(found) < count:
            titles = await _to_taste(context, query, hits.titles)
            found.update((title.title_id, title) for title in titles if title not in excluded)
    if found or hits.let_go:
        return tuple(found.values()), hits
    instead = await relax_conditions(context, replace(hits.wish.want, text="", offset=0), 1)
    if instead is None:
        return (), hits
    return await candidates(context, Hits((), hits.wish.with_want(instead.want), instead.let_go), customer, excluded, count)


def _queries(hits: Hits, customer: CustomerTaste) -> list[ReaderQuery]:
    """The queries, from the narrowest to the widest."""
    wish, reader = hits.wish, reader_of(customer)
    known = tuple(dict.fromkeys((*reader.known, *wish.want.known, *wish.want.like)))
    wide = replace(reader, limit=CANDIDATES, conditions=wish.conditions, known=known, unwanted=wish.unwanted)
    queries = [wide]
    if wish.themes:
        queries.insert(0, replace(wide, wanted=wish.wanted, mood=wish.mood))
    if hits.titles:
        fits = {title.title_id: SLOPE / (SLOPE + place) for place, title in enumerate(hits.titles)}
        # What was only looked at is no answer to "something I would like", and may well be one to a search.
        unseen = tuple(each for each in known if each not in customer.viewed)
        queries.insert(0, replace(wide, fits=fits, known=unseen))
    return queries


async def _to_taste(context: ToolContext, query: ReaderQuery, hits: Sequence[Title]) -> Sequence[Title]:
    """Orders the hits by taste; keeps their order if that is late. Raises BackendFailure where there are no hits
    either: the ladder has better titles."""
    try:
        return await context.store.catalog.for_reader(query, context.deadline)
    except BackendFailure:
        if not hits:
            raise
        context.degraded.add("taste")
        return [title for title in hits if title.title_id not in query.known] if query.fits is not None else ()


async def tags_known(context: ToolContext) -> frozenset[str]:
    """The catalogue's tags as last read; none before the first read."""
    return frozenset((await context.store.reader.terms(context.deadline)).tags)
