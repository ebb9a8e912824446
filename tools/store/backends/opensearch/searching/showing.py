"""Ranked titles to what a search answers."""

from __future__ import annotations

import numpy as np

from tools.store.backends.opensearch.searching.candidates import Recalled, RecalledTitles
from tools.store.backends.opensearch.searching.matches import Matches, total_of
from tools.store.backends.opensearch.searching.title_cache import TitleCache
from tools.store.models import CatalogQuery, Ordering, Title
from tools.store.search.ranking.orderings import in_order
from tools.store.search.ranking.ranked import Ranked


async def matches(
    query: CatalogQuery,
    titles: RecalledTitles,
    recalled: Recalled,
    ranked: Ranked,
    with_all_themes: int,
    cache: TitleCache,
) -> Matches:
    """Raises MalformedAnswer."""
    total = total_of(ranked, recalled.allowed(titles.ids), with_all_themes)
    sensed = recalled.senses is not None
    near = await cache.titles([recalled.entries[titles.ids[row]] for row in ranked.near])
    if ranked.ordering is not None:
        best = await _ordered(query, titles, recalled, ranked, ranked.ordering, cache)
        return Matches(best, total, sensed, ranked.guessed, near)
    rows = query.page_of(ranked.best(query.offset + query.limit))
    best = await cache.titles([recalled.entries[titles.ids[row]] for row in rows])
    return Matches(best, total, sensed, ranked.guessed, near)


async def _ordered(
    query: CatalogQuery, titles: RecalledTitles, recalled: Recalled, ranked: Ranked, ordering: Ordering, cache: TitleCache
) -> tuple[Title, ...]:
    """The page of all answers by the ordering; equal ones as in the catalogue file, in whose order candidates are."""
    answers = [recalled.entries[titles.ids[row]] for row in np.flatnonzero(ranked.scores).tolist()]
    asked = query.conditions
    sold = [entry.card.facts.sold_as(asked.format, asked.day) for entry in answers]
    prices = [None if sale is None else sale.price for sale in sold]
    return tuple(query.page_of(in_order(await cache.titles(answers), ordering, prices)))
