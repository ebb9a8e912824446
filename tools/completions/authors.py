"""Authors whose name somebody may be typing, family or given name first, in any script."""

from __future__ import annotations

from collections.abc import Mapping

from tools.contract import ToolContext
from tools.results.rows import author_name
from tools.store.catalog.adult import without_adult
from tools.store.failures import BackendFailure
from tools.store.models import Author, Conditions
from tools.store.search.text.characters import has_cjk
from tools.store.search.titles.people import is_author

MOST = 20


async def complete_author(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Names as people say them ("Kentarou Miura"), in Japanese where that is what is typed; those of the most popular titles
    where nothing is."""
    authors = context.store.popular.authors_beginning(typed, MOST)
    if not authors and typed.strip():
        authors = await _found(context, typed)
    in_japanese = has_cjk(typed)
    names = ((author.name_ja if in_japanese else None) or author_name(author) for author in authors)
    return list(dict.fromkeys(names))


async def _found(context: ToolContext, typed: str) -> list[Author]:
    """Those of the catalogue of whom it is a whole part of the name."""
    try:
        titles = await context.store.catalog.popular(Conditions(author=typed), MOST, context.deadline)
    except BackendFailure:
        return []
    return [author for title in without_adult(titles) for author in title.authors if is_author(typed, author)]
