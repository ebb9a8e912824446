"""Running the legs of a search over the whole shelf: each gives one number a title (tools.store.search.evidence)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.embedded.index import LexicalIndex
from tools.store.backends.embedded.names_leg import NamesLeg
from tools.store.backends.embedded.people_leg import PeopleLeg
from tools.store.backends.embedded.shelf import Shelf
from tools.store.backends.embedded.vectors import Vectors
from tools.store.search.evidence import Evidence
from tools.store.search.names import ALIAS_FACTOR
from tools.store.search.query import ParsedQuery
from tools.store.search.romaji import sound_key
from tools.store.search.text import has_cjk

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
_KIN_FACTOR, _WITH_AUTHOR_FACTOR = 0.92, 0.97
_ANCHOR = 0.88
_FAME = np.float32(0.05)
_TRANSLATED = np.float32(0.9)
_MOST_WORDS = 4


class Legs:
    """Read only after construction; safe to share between threads."""

    def __init__(self, shelf: Shelf, index: LexicalIndex) -> None:
        self._shelf, self._prose = shelf, index.prose
        self._names = NamesLeg(index.names, len(shelf))
        self._people = PeopleLeg(index.people, shelf)

    def evidence(
        self, reading: ParsedQuery, allowed: Mask, anchor: int | None, vector: Floats | None, vectors: Vectors | None
    ) -> Evidence:
        """All legs. `anchor` is the title whose author is asked for; the vector leg runs when both vectors are there."""
        people = self._people.find(reading)
        if anchor is not None:
            self._people.raise_works(people, anchor)
        meaning, headline = vectors.cosines(vector) if vector is not None and vectors is not None else (None, None)
        return Evidence(
            names=self._called(reading, allowed),
            people=people,
            words=self._words(reading),
            tags=self._tagged(reading),
            meaning=meaning,
            headline=headline,
            prior=self._shelf.prior,
            known=self._prose.known(dict.fromkeys(reading.terms, 1.0)),
        )

    def by_author(self, asked: str) -> Mask:
        """Shape (titles,): the exact author filter."""
        return self._people.exactly(asked)

    def called(self, name: str, aliases: Sequence[str]) -> int | None:
        """The number of the best known title that is called `name` or one of `aliases` (sound keys), if one is."""
        keys = [(sound_key(name), 1.0), *((key, ALIAS_FACTOR) for key in aliases)]
        found = self._names.find(keys, np.ones(len(self._shelf), np.bool_))
        best = int(np.argmax(found + _FAME * self._shelf.prior))
        return best if found[best] >= _ANCHOR else None

    def kin_of(self, number: int) -> Floats:
        """Shape (titles,): above 0 where a name begins with a name of title `number`, or the catalogue says they are
        related.
        """
        found = np.zeros(len(self._shelf), np.float32)
        self._raise_kin(found, number, 1.0)
        return found

    def _raise_kin(self, found: Floats, number: int, factor: float) -> None:
        self._names.kin(found, [k for k in self._names.keys_of(number) if _is_telling(k)], factor)
        for title_id in self._shelf.titles[number].related:
            related = self._shelf.numbers.get(title_id)
            if related is not None:
                found[related] = max(found[related], np.float32(0.8 * factor))

    def _called(self, reading: ParsedQuery, allowed: Mask) -> Floats:
        keys = [(key, 1.0) for key in reading.names] + [(key, ALIAS_FACTOR) for key in reading.aliases]
        found = self._names.find(keys, allowed)
        self._names.add_loans(found, reading.core)
        found = np.maximum(found, self._called_with_author(reading.core, allowed))
        best = int(np.argmax(found + _FAME * self._shelf.prior))
        if found[best] >= _ANCHOR:
            self._raise_kin(found, best, _KIN_FACTOR)
        return found

    def _called_with_author(self, core: str, allowed: Mask) -> Floats:
        """'berserk miura', 'モンスター 浦沢': a name among the works of an author whose part of the name stands beside
        it.
        """
        words = core.split()
        found = np.zeros(len(self._shelf), np.float32)
        if not 2 <= len(words) <= _MOST_WORDS:
            return found
        for i in (0, len(words) - 1):
            works = self._people.exactly(words[i]) & allowed
            rest = " ".join(words[:i] + words[i + 1 :])
            if works.any():
                named = self._names.find([(sound_key(rest), _WITH_AUTHOR_FACTOR)], works)
                self._names.add_loans(named, rest)
                found = np.maximum(found, np.where(works, named, np.float32(0.0)))
        return found

    def _words(self, reading: ParsedQuery) -> Floats:
        own = self._covered(reading.terms)
        return np.maximum(own, _TRANSLATED * self._covered(reading.translated)) if reading.translated else own

    def _covered(self, terms: Sequence[str]) -> Floats:
        asked = dict.fromkeys(terms, 1.0)
        return self._prose.score(asked) / np.float32(max(1e-6, self._prose.weight_of(asked)))

    def _tagged(self, reading: ParsedQuery) -> Floats:
        """The share of the query's themes that a title is tagged with; a demographic that is named counts as one of them."""
        share = np.zeros(len(self._shelf), np.float32)
        each = np.float32(1.0 / max(1, len(reading.themes) + (reading.genre is not None)))
        for tags in reading.themes:
            numbers = [self._shelf.by_tag[t] for t in tags if t in self._shelf.by_tag]
            if numbers:
                share[np.unique(np.concatenate(numbers))] += each
        if reading.genre in self._shelf.by_genre:
            share += each * self._shelf.by_genre[str(reading.genre)]
        return share


def _is_telling(key: str) -> bool:
    """Long enough that a name beginning with it is kin, not chance."""
    return len(key) >= (3 if has_cjk(key) else 6)
