"""Titles by names that are like the asked one, and titles and authors by exact names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from rapidfuzz.distance import OSA

from tools.store.backends.embedded.columns import TitleColumns
from tools.store.backends.embedded.index import LexicalIndex, NameRows
from tools.store.models import NameMatches, Ordering
from tools.store.search.arrays import Floats, Mask
from tools.store.search.text.characters import has_kanji
from tools.store.search.text.romaji import MIN_CONSONANTS, consonants, is_loanword, sound_key
from tools.store.search.text.tokens import SortedKeys, grams
from tools.store.search.titles.names import (
    MAIN_FACTOR,
    MOST_TITLES,
    ExactName,
    exact_names,
    family_key,
    likenesses,
    loanword_likeness,
)

_RECALL = 120


class NamesLeg:
    """Searches the name rows. Read only after construction; safe to share between threads."""

    def __init__(self, rows: NameRows, titles: int) -> None:
        self._rows = rows
        self._titles = titles
        self._masses = rows.grams.masses() + np.float32(1e-6)
        self._counts = np.where(rows.main, MAIN_FACTOR, 1.0)
        self._loanwords = _by_consonants(rows)
        self._prefixes = SortedKeys((key, row) for row, key in enumerate(rows.keys))

    def find(self, keys: Iterable[tuple[str, float]], among: Mask | None = None) -> Floats:
        """Shape (titles,): the likeness of each title to the nearest of `keys` (sound key, factor); 0 where not recalled,
        and for those not `among` the titles that are asked about."""
        found = np.zeros(self._titles, np.float32)
        for key, factor in keys:
            self._judge(found, list(self._recall(key, among) | set(self._prefixes.beginning_with(key))), key, factor)
        return found if among is None else np.where(among, found, np.float32(0.0))

    def spelled_in_katakana(self, text: str) -> Floats:
        """Shape (titles,): how near `text` is to the Latin name that it spells in katakana; 0 elsewhere."""
        found = np.zeros(self._titles, np.float32)
        if not is_loanword(text):
            return found
        key = sound_key(text)
        for row in self._loanwords.get(consonants(text), ()):
            title = int(self._rows.titles[row])
            likeness = loanword_likeness(OSA.normalized_similarity(key, self._rows.keys[row]))
            found[title] = max(found[title], likeness)
        return found

    def beginning_with(self, keys: Iterable[str]) -> Floats:
        """Shape (titles,): how much of a title's name the nearest of `keys` is, where one begins it; 0 elsewhere."""
        found = np.zeros(self._titles, np.float32)
        for key in keys:
            self._judge(found, self._prefixes.beginning_with(key), key, 1.0)
        return found

    def keys_of(self, number: int) -> tuple[str, ...]:
        """All sound keys of a title."""
        first, last = np.searchsorted(self._rows.titles, [number, number + 1])
        return tuple(self._rows.keys[first:last])

    def _judge(self, found: Floats, rows: list[int], key: str, factor: float) -> None:
        likeness = factor * likenesses(key, [self._rows.keys[row] for row in rows]) * self._counts[rows]
        np.maximum.at(found, self._rows.titles[rows], likeness.astype(np.float32))

    def _recall(self, key: str, among: Mask | None) -> set[int]:
        rows = None if among is None else among[self._rows.titles]
        return set(self._rows.grams.most_alike(grams(key), self._masses, _RECALL, rows).tolist())


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
