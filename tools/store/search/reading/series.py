"""What belongs to a title that is not wanted: who says "not One Piece" wants none of its side stories either."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from session.resilience.deadline import Deadline
from tools.store.failures import BackendFailure
from tools.store.models import CatalogQuery, Conditions, NameMatches, Title
from tools.store.search.ranking.names import series_keys
from tools.store.search.reading.nearly import Searched
from tools.store.search.text.romaji import sound_key
from tools.store.search.titles.names import names_of

_LONGEST_SERIES = 40
"""Titles of one series that are left out: those that a search by its name finds first."""


async def with_series(
    catalog: Searched, names: Sequence[str], called: Mapping[str, NameMatches], within: Deadline
) -> dict[str, NameMatches]:
    """What goes by each of the names, with the titles whose names begin with it; alone where these do not come in time."""
    found = await asyncio.gather(*(_series(catalog, name, within) for name in names))
    return {
        name: NameMatches(tuple(dict.fromkeys((*called[name].title_ids, *series))), called[name].by_author)
        for name, series in zip(names, found, strict=True)
    }


async def _series(catalog: Searched, name: str, within: Deadline) -> tuple[str, ...]:
    keys = series_keys((sound_key(name),))
    if not keys:
        return ()
    try:
        page = await catalog.search(CatalogQuery(name, Conditions(), _LONGEST_SERIES), within)
    except BackendFailure:
        return ()
    # Beside the event loop: names of forty full titles take some milliseconds to compare.
    return await asyncio.to_thread(_beginning, page.titles, keys)


def _beginning(titles: Sequence[Title], keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(title.title_id for title in titles if any(sound_key(name).startswith(keys) for name in names_of(title)))
