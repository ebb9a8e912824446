"""Names that nothing goes by exactly: nicknames, slips, and Latin names in katakana ("snk", "death not", スラムダンク).

The catalogue's own search tells which title a name may mean; only one whose names fit it is believed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from rapidfuzz.distance import OSA

from session.resilience.deadline import Deadline
from tools.store.failures import BackendFailure
from tools.store.models import CatalogPage, CatalogQuery, Conditions, NameMatches, Title
from tools.store.search.query.aliases import AliasTable
from tools.store.search.text.romaji import MIN_CONSONANTS, consonants, is_loanword, sound, sound_key
from tools.store.search.titles.names import LOANWORD_LEAST, NameKeys, names_of

MOST = 4
"""Names that are searched for: each costs a search."""
_FOUND = 2
_FITS = 0.82
"""How like a title's name must be: a slip in six letters."""
_SHORTEST, _SHORTEST_BEGINNING = 4, 6
"""Letters of a name that may hold a slip, and of one that may leave out a title's last words."""


class Searched(Protocol):
    """What is asked of a catalogue here (`tools.store.ports.CatalogPort`)."""

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage: ...


async def nearly_called(catalog: Searched, names: Sequence[str], within: Deadline) -> dict[str, NameMatches]:
    """What each of the names may mean, if anything; those that were not looked for in time are left out."""
    found = await asyncio.gather(*(_meant(catalog, name, within) for name in names))
    return {name: called for name, called in zip(names, found, strict=True) if called is not None}


async def _meant(catalog: Searched, name: str, within: Deadline) -> NameMatches | None:
    try:
        page = await catalog.search(CatalogQuery(name, Conditions(), _FOUND), within)
    except BackendFailure:
        return None
    return NameMatches(tuple(title.title_id for title in page.titles if fits(name, title))[:1])


def fits(name: str, title: Title) -> bool:
    """Whether the title may be called so: by a nickname, with a slip, by its first words, or by what its Latin name is in
    katakana."""
    key, keys = sound_key(name), NameKeys.of(title).all
    if any(alias in keys for alias in AliasTable.load().expand(name)):
        return True
    if is_loanword(name) and any(_spells(name, key, each) for each in keys):
        return True
    if len(key) >= _SHORTEST and any(OSA.normalized_similarity(key, each) >= _FITS for each in keys):
        return True
    beginning = f"{sound(name)} "
    return len(key) >= _SHORTEST_BEGINNING and any(sound(each).startswith(beginning) for each in names_of(title))


def _spells(name: str, key: str, latin: str) -> bool:
    skeleton = consonants(name)
    if not latin.isascii() or len(skeleton) < MIN_CONSONANTS:
        return False
    return OSA.normalized_similarity(key, latin) >= LOANWORD_LEAST and consonants(latin) == skeleton
