"""The leg that finds authors: in the exact filter, in the wording of a query, or as the query itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA

from tools.backends.embedded.index import PeopleRows
from tools.backends.embedded.shelf import Shelf
from tools.search.people import is_author
from tools.search.query import Reading
from tools.search.romaji import sound, sound_key
from tools.search.text import has_cjk, has_kanji
from tools.search.tokens import grams

Floats = NDArray[np.float32]
_TYPO = 0.84
_RECALL = 40
_LONGEST_CJK_NAME = 12


class PeopleLeg:
    """Knows the distinct authors of a shelf. Read only after construction; safe to share between threads."""

    def __init__(self, rows: PeopleRows, shelf: Shelf) -> None:
        self._rows, self._shelf = rows, shelf
        self._masses = rows.grams.masses() + np.float32(1e-6)
        self._spelled: dict[str, set[int]] = defaultdict(set)
        self._parts: dict[str, set[int]] = defaultdict(set)
        self._family: dict[str, set[int]] = defaultdict(set)
        self._size: list[int] = [0] * len(shelf.authors)
        for row, key in enumerate(rows.keys):
            self._learn(key, int(rows.authors[row]), bool(rows.part[row]))

    def _learn(self, key: str, author: int, part: bool) -> None:
        if part:
            self._parts[key].add(author)
            self._size[author] += 1
            return
        self._spelled[key].add(author)
        if has_kanji(key):
            for size in range(1, len(key) + 1):
                self._family[key[:size]].add(author)
                self._family[key[-size:]].add(author)

    def exactly(self, asked: str) -> NDArray[np.bool_]:
        """Shape (titles,): whether an author of the title has the asked name, by tools.search.people.is_author."""
        mask = np.zeros(len(self._shelf), np.bool_)
        for author in self._near(asked):
            if is_author(asked, self._shelf.authors[author]):
                mask[self._shelf.works[author]] = True
        return mask

    def _near(self, asked: str) -> set[int]:
        """Authors that share a part with the asked name: all that is_author could accept."""
        found = set(self._spelled.get(sound_key(asked), ()))
        for part in sound(asked).split():
            found |= self._parts.get(part, set()) | self._family.get(part, set())
        return found

    def find(self, reading: Reading) -> Floats:
        """Shape (titles,): how surely the query names an author of each title."""
        found = np.zeros(len(self._shelf), np.float32)
        for author, sureness in self._named(reading.author or reading.core):
            works = self._shelf.works[author]
            found[works] = np.maximum(found[works], np.float32(sureness))
        return found

    def raise_works(self, found: Floats, number: int) -> None:
        """Sets all works of the authors of title `number` to 1."""
        for author in self.authors_of(number):
            found[self._shelf.works[author]] = 1.0

    def authors_of(self, number: int) -> Iterator[int]:
        for author in self._shelf.titles[number].authors:
            for candidate in self._spelled.get(sound_key(author.name), ()):
                if self._shelf.authors[candidate].name == author.name:
                    yield candidate

    def _named(self, text: str) -> Iterator[tuple[int, float]]:
        key = sound_key(text)
        exact = self._spelled.get(key)
        if exact:
            yield from ((author, 1.0) for author in exact)
            return
        yield from self._inside(text, key)
        yield from self._typos(key)

    def _inside(self, text: str, key: str) -> Iterator[tuple[int, float]]:
        """Names inside a longer text: all Latin parts of one, a kanji spelling, or, alone, a family name."""
        asked = sound(text).split()
        for author in {a for part in asked for a in self._parts.get(part, ())}:
            parts = sum(author in self._parts.get(part, ()) for part in set(asked))
            if parts >= 2 and parts >= self._size[author]:
                yield author, 0.97
            elif parts == len(asked) == 1 and len(asked[0]) >= 4:
                yield author, 0.75
        if has_cjk(text):
            yield from ((a, 0.95) for part in _substrings(key) if has_kanji(part) for a in self._spelled.get(part, ()))
            yield from ((a, 0.75) for a in self._family.get(key, ()) if len(key) >= 2)

    def _typos(self, key: str) -> Iterator[tuple[int, float]]:
        if not 5 <= len(key) <= 40:
            return
        asked = dict.fromkeys(grams(key), 1.0)
        dice = 2.0 * self._rows.grams.score(asked) / (self._masses + np.float32(self._rows.grams.weight_of(asked)))
        best = np.argpartition(-dice, _RECALL)[:_RECALL] if len(dice) > _RECALL else np.arange(len(dice))
        for row in best:
            near = OSA.normalized_similarity(key, self._rows.keys[row])
            if not self._rows.part[row] and near >= _TYPO:
                yield int(self._rows.authors[row]), 0.95 * float(near)


def _substrings(key: str) -> Sequence[str]:
    sizes = range(3, min(_LONGEST_CJK_NAME, len(key)) + 1)
    return [key[i : i + n] for n in sizes for i in range(len(key) - n + 1)]
