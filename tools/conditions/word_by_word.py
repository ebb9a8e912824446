"""A few plain words, each a theme of its own ("ninja farm"), where no title has them all: titles with one each, in turn."""

from __future__ import annotations

import asyncio
from itertools import chain, zip_longest

from tools.conditions.wanted import Want
from tools.contract import ToolContext
from tools.store.failures import BackendFailure
from tools.store.models import CatalogPage, CatalogQuery, Title
from tools.store.search.conditions.check import Check
from tools.store.search.query.themes import ThemeTable

MOST_THEMES = 3


async def word_by_word(context: ToolContext, want: Want, limit: int) -> CatalogPage | None:
    """One page of them. None where the text names fewer than two themes or more than three, where nothing is found by any,
    and where the catalogue does not deliver: that nothing was found is known already."""
    words = list(dict.fromkeys(theme.phrase for theme in ThemeTable.load().themes(want.text)))
    if want.offset or not 1 < len(words) <= MOST_THEMES:
        return None
    queries = [CatalogQuery(word, want.conditions, limit) for word in words]
    try:
        pages = await asyncio.gather(*(context.store.catalog.search(query, context.deadline) for query in queries))
    except BackendFailure:
        return None
    fit = Check(want.conditions.but("in_stock", "all_volumes", "price", "series_price", "format"))
    in_turn = chain.from_iterable(zip_longest(*map(_of_theme, pages)))
    titles = tuple(dict.fromkeys(title for title in in_turn if title is not None and fit.satisfied_by(title)))[:limit]
    return CatalogPage(titles, len(titles)) if titles else None


def _of_theme(page: CatalogPage) -> tuple[Title, ...]:
    """A theme that no title is tagged with may still be in names."""
    return page.titles if page.titles and not page.guessed else page.near
