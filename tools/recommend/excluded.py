"""Titles to leave out of recommendations."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from itertools import islice

from tools.store.models import Title
from tools.store.search.text.characters import normalise


class Excluded:
    """Titles with these ids, or these names in any script. Names are read once and compared lazily: there may be fifty
    of three hundred characters, and hundreds of candidates."""

    def __init__(self, title_ids: Iterable[str], named: Iterable[str]) -> None:
        asked = tuple(named)
        self._ids = frozenset((*title_ids, *asked))
        self._names = frozenset(map(normalise, asked))

    def and_these(self, titles: Iterable[Title]) -> Excluded:
        more = copy(self)
        more._ids = self._ids.union(title.title_id for title in titles)
        return more

    def first(self, titles: Iterable[Title], count: int) -> list[Title]:
        """The first `count` that are not excluded; looks at no more titles than it takes."""
        return list(islice((title for title in titles if title not in self), count))

    def __contains__(self, title: Title) -> bool:
        if title.title_id in self._ids:
            return True
        return bool(self._names) and any(normalise(name) in self._names for name in _names_of(title))


def _names_of(title: Title) -> tuple[str, ...]:
    return tuple(name for name in (title.en, title.romaji, title.ja, title.kana, *title.alt_titles) if name)
