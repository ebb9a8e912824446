"""Titles by names that are like the asked one, and titles and authors by exact names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from tools.store.backends.embedded.columns import TitleColumns
from tools.store.backends.embedded.index import LexicalIndex, NameRows
from tools.store.models import NameMatches, Ordering
from tools.store.search.arrays import Mask, Rows
from tools.store.search.text.characters import has_kanji
from tools.store.search.text.romaji import MIN_CONSONANTS, consonants
from tools.store.search.text.tokens import SortedKeys, grams
from tools.store.search.titles.name_table import NameTable
from tools.store.search.titles.names import MOST_TITLES, ExactName, exact_names, family_key

_RECALL = 120


class IndexedNames(NameTable):
    """The name rows of a whole catalogue, found by their grams, beginnings and consonants."""

    def __init__(self, rows: NameRows, titles: int) -> None:
        self._keep(rows.keys, rows.titles, rows.main, titles)
        self._grams, self._masses = rows.grams, rows.grams.masses() + np.float32(1e-6)
        self._loanwords = _by_consonants(rows)
        self._prefixes = SortedKeys((key, row) for row, key in enumerate(rows.keys))

    def _like(self, key: str, among: Mask | None) -> Rows:
        rows = None if among is None else among[self._owners]
        return np.asarray(self._grams.most_alike(grams(key), self._masses, _RECALL, rows), np.intp)

    def _beginning(self, keys: tuple[str, ...]) -> list[int]:
        return list({row for key in keys for row in self._prefixes.beginning_with(key)})

    def _of_consonants(self, skeleton: str, key: str) -> list[int]:
        return self._loanwords.get(skeleton, [])


def _by_consonants(rows: NameRows) -> dict[str, list[int]]:
    """Rows of Latin names by their consonants, which is how katakana finds them."""
    found: dict[str, list[int]] = defaultdict(list)
    for row, key in enumerate(rows.keys):
        if key.isascii() and len(skeleton := consonants(key)) >= MIN_CONSONANTS:
            found[skeleton].append(row)
    return found


class ExactNames:
    """Titles and authors by the sound keys of their names. Read only after construction; safe to share between threads."""

    def __init__(self, index: LexicalIndex, columns: TitleColumns) -> None:
        self._columns = columns
        self._whole: dict[str, set[int]] = defaultdict(set)
        self._main: dict[str, set[int]] = defaultdict(set)
        self._authors: dict[str, set[int]] = defaultdict(set)
        self._families: dict[str, set[int]] = defaultdict(set)
        self._learn(index)
        self._fame = np.empty(len(columns), np.intp)
        self._fame[columns.ordered[Ordering.POPULARITY]] = np.arange(len(columns))

    def _learn(self, index: LexicalIndex) -> None:
        names, people = index.names, index.people
        for key, title, main in zip(names.keys, names.titles.tolist(), names.main.tolist(), strict=True):
            (self._main if main else self._whole)[key].add(title)
        for key, author, part in zip(people.keys, people.authors.tolist(), people.part.tolist(), strict=True):
            if not part:
                self._authors[key].add(author)
                for size in range(1, len(key)) if has_kanji(key) else ():
                    self._families[key[:size]].add(author)
        for number, known in enumerate(self._columns.authors):
            self._families[family_key(known)].add(number)

    def find(self, asked: Sequence[str]) -> dict[str, NameMatches]:
        """The titles and authors of exactly these names; names without any are left out."""
        found = {each: NameMatches(self._titles(name), self._works(name)) for each, name in exact_names(asked).items()}
        return {each: called for each, called in found.items() if called != NameMatches()}

    def _titles(self, name: ExactName) -> tuple[str, ...]:
        titles = self._whole.get(name.key) or (self._main.get(name.key) if name.may_precede_subtitle else None)
        best = sorted(titles or (), key=lambda number: int(self._fame[number]))
        return tuple(self._columns.titles[number].title_id for number in best[:MOST_TITLES])

    def _works(self, name: ExactName) -> int:
        authors: Iterable[int] = self._authors.get(name.key, ())
        if not authors and (name.may_be_family or name.may_be_written_family):
            authors = self._families.get(name.key, ())
        return len({work for author in authors for work in self._columns.works[author].tolist()})
