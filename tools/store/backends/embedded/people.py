"""The leg that finds authors: for the exact filter, in the wording of a query, or as the query itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tools.store.backends.embedded.columns import TitleColumns
from tools.store.backends.embedded.index import PeopleRows
from tools.store.search.arrays import Floats, Mask
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.names import TYPO_LENGTHS, AskedAuthor
from tools.store.search.text.characters import has_kanji
from tools.store.search.text.romaji import sound_key
from tools.store.search.text.tokens import grams
from tools.store.search.titles.people import AskedName, AuthorKeys

_RECALL = 40
_LONGEST_CJK_NAME = 12


class PeopleLeg:
    """Knows the distinct authors of a catalogue. Read only after construction; safe to share between threads."""

    def __init__(self, rows: PeopleRows, columns: TitleColumns) -> None:
        self._rows, self._columns = rows, columns
        self._masses = rows.grams.masses() + np.float32(1e-6)
        self._spelled: dict[str, set[int]] = defaultdict(set)
        self._parts: dict[str, set[int]] = defaultdict(set)
        self._family: dict[str, set[int]] = defaultdict(set)
        for row, key in enumerate(rows.keys):
            self._learn(key, int(rows.authors[row]), bool(rows.part[row]))
        self._keys = _keys_of(rows, len(columns.authors))

    def _learn(self, key: str, author: int, part: bool) -> None:
        if part:
            self._parts[key].add(author)
            return
        self._spelled[key].add(author)
        if has_kanji(key):
            for size in range(1, len(key) + 1):
                self._family[key[:size]].add(author)
                self._family[key[-size:]].add(author)

    def written_by(self, asked: str) -> Mask:
        """Shape (titles,): whether an author of the title has the asked name, as `people.is_author` says."""
        mask = self._columns.none()
        name = AskedName(asked)
        for author in self._near(name):
            if name.fits(self._keys[author]):
                mask[self._columns.works[author]] = True
        return mask

    def _near(self, asked: AskedName) -> set[int]:
        """Authors that share a part with the asked name: all that could fit."""
        found = set(self._spelled.get(asked.key, ()))
        for part in asked.words:
            found |= self._parts.get(part, set()) | self._family.get(part, set())
        return found

    def named(self, query: ParsedQuery) -> Floats:
        """Shape (titles,): how surely the query names an author of each title (`AskedAuthor`)."""
        found = np.zeros(len(self._columns), np.float32)
        asked = AskedAuthor(query)
        for author in self._candidates(asked.name) | self._read_as(asked.readings):
            works = self._columns.works[author]
            found[works] = np.maximum(found[works], np.float32(asked.sureness(self._keys[author])))
        return found

    def works_of_authors(self, number: int) -> Mask:
        """Shape (titles,): all works of the authors of title `number`."""
        mask = self._columns.none()
        for author in self.authors_of(number):
            mask[self._columns.works[author]] = True
        return mask

    def authors_of(self, number: int) -> Iterator[int]:
        for author in self._columns.titles[number].authors:
            for candidate in self._spelled.get(sound_key(author.name), ()):
                if self._columns.authors[candidate].name == author.name:
                    yield candidate

    def _read_as(self, readings: Iterable[str]) -> set[int]:
        """The authors whose names, or parts of them, the asked kanji may be read as."""
        return {author for key in readings for known in (self._spelled, self._parts) for author in known.get(key, ())}

    def _candidates(self, asked: AskedName) -> set[int]:
        """The authors that may be named: the one of exactly this name, else all that share a part, a spelling or many
        grams."""
        exact = self._spelled.get(asked.key)
        if exact and len(asked.words) > 1:
            return exact
        inside = {a for part in _substrings(asked.key) for a in self._spelled.get(part, ())}
        return self._near(asked) | inside | self._typed_like(asked.key)

    def _typed_like(self, key: str) -> set[int]:
        """The authors whose spellings share the most idf-weighted grams with `key`."""
        if len(key) not in TYPO_LENGTHS:
            return set()
        return set(self._rows.authors[self._rows.grams.most_alike(grams(key), self._masses, _RECALL)].tolist())


def _keys_of(rows: PeopleRows, authors: int) -> list[AuthorKeys]:
    parts: list[set[str]] = [set() for _ in range(authors)]
    spellings: list[list[str]] = [[] for _ in range(authors)]
    for key, author, part in zip(rows.keys, rows.authors.tolist(), rows.part.tolist(), strict=True):
        if part:
            parts[author].add(key)
        else:
            spellings[author].append(key)
    return [AuthorKeys(frozenset(p), tuple(s)) for p, s in zip(parts, spellings, strict=True)]


def _substrings(key: str) -> Sequence[str]:
    """The parts of a key with kanji that may be a written name."""
    if not has_kanji(key):
        return ()
    sizes = range(3, min(_LONGEST_CJK_NAME, len(key)) + 1)
    return [key[i : i + n] for n in sizes for i in range(len(key) - n + 1)]
