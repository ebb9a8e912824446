"""Titles that somebody may be typing: by the beginning of a name, in any script, or of an id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.contract import ToolContext
from tools.store.catalog.adult import Adult, without_adult
from tools.store.failures import BackendFailure
from tools.store.models import CatalogQuery, Conditions, Title
from tools.store.search.text.characters import has_cjk
from tools.store.search.text.romaji import sound, sound_key
from tools.store.search.titles.names import names_of

MOST = 20
LEAST_ASKED, MOST_ASKED = 3, 200
"""Letters for which the catalogue is asked for what is not at hand: fewer begin a word of half of it, and more no name."""


async def complete_title_id(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Ids of what is typed the name of ("berse", ベル), or the beginning of the id itself; the most popular where nothing
    is typed."""
    return [title.title_id for title in await _meant(context, typed)]


async def complete_title(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Names: in Japanese where that is what is typed."""
    in_japanese = has_cjk(typed)
    names = ((title.ja if in_japanese else None) or title.display for title in await _meant(context, typed))
    return list(dict.fromkeys(names))


async def _meant(context: ToolContext, typed: str) -> Sequence[Title]:
    popular = context.store.popular
    titles = popular.titles_beginning(typed, MOST) + popular.ids_beginning(typed, MOST)
    if not titles and LEAST_ASKED <= len(sound_key(typed)) <= MOST_ASKED:
        titles = await _found(context, typed)
    # A few letters ask for nothing, least of all for what has to be asked for.
    shown = titles if context.store.adult is Adult.ON else without_adult(titles)
    return list({title.title_id: title for title in shown}.values())[:MOST]


async def _found(context: ToolContext, typed: str) -> list[Title]:
    """What the catalogue has, where a word of a name begins so: nobody is told of what is merely about it."""
    query = CatalogQuery(typed, Conditions(no_adult=context.store.adult is not Adult.ON), MOST)
    try:
        page = await context.store.catalog.search(query, context.deadline)
    except BackendFailure:
        return []
    return [title for title in page.titles if any(_begins(typed, name) for name in names_of(title))]


def _begins(typed: str, name: str) -> bool:
    return sound_key(name).startswith(sound_key(typed)) or f" {sound(typed)}" in f" {sound(name)}"
