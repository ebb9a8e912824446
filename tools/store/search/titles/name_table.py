"""The names of several titles as one column, so that a key is compared with all of them at once.

As near as `tools.store.search.titles.names.one_likeness` says, and quicker: an engine that recalls a hundred titles would
compare five hundred names one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress, count
from operator import methodcaller

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from tools.store.search.arrays import Floats
from tools.store.search.text.romaji import MIN_CONSONANTS, consonants, is_loanword, sound_key
from tools.store.search.titles.names import LOANWORD_LEAST, MAIN_FACTOR, NameKeys, begun_likeness, heard, loanword_likeness

LEAST = 0.5
"""Smaller likenesses need not be measured: no rule of the fusion asks for less than 0.66."""


class NameTable:
    """The names of titles, whose rows are the rows of every answer: arrays of shape (titles,), 0 to 1."""

    def __init__(self, titles: Iterable[NameKeys]) -> None:
        self._keys: list[str] = []
        counts: list[int] = []
        for named in titles:
            self._keys += named.whole
            self._keys += named.main
            counts += (len(named.whole), len(named.main))
        self._titles = len(counts) // 2
        rows = np.array(counts, np.intp)
        self._owners = np.repeat(np.arange(len(counts)) // 2, rows)
        self._factors = np.repeat(np.tile((1.0, MAIN_FACTOR), self._titles), rows)

    def likeness(self, asked: Sequence[tuple[str, float]]) -> Floats:
        """How near the nearest of the keys, each with its factor, is to the nearest name: 1 is equal, 0.95 equal before
        a subtitle. Below `LEAST` it may be said to be farther than it is."""
        best = np.zeros(len(self._keys))
        for key, factor in asked:
            np.maximum(best, factor * heard(key, self._keys, self._near(key, LEAST)), out=best)
        for row in self._beginning(tuple(key for key, _ in asked)):
            name = self._keys[row]
            begun = max(factor * begun_likeness(key, name) for key, factor in asked if name.startswith(key))
            best[row] = max(best[row], begun)
        return self._by_title(best * self._factors)

    def beginning_with(self, keys: tuple[str, ...]) -> Floats:
        """How much of a title's name the nearest of `keys` is, where one begins it; 0 elsewhere."""
        found = np.zeros(len(self._keys))
        for row in self._beginning(keys):
            name = self._keys[row]
            found[row] = max(begun_likeness(key, name) for key in keys if name.startswith(key))
        return self._by_title(found * self._factors)

    def spelled_in_katakana(self, text: str) -> Floats:
        """How near a text in katakana is to the nearest Latin name that it may spell; 0 where it is none."""
        found = np.zeros(len(self._keys))
        skeleton = consonants(text) if is_loanword(text) else ""
        if len(skeleton) >= MIN_CONSONANTS:
            # Consonants are costly to read: only of those names that are near enough to count.
            near = self._near(sound_key(text), LOANWORD_LEAST)
            for row in np.flatnonzero(near):
                if self._keys[row].isascii() and consonants(self._keys[row]) == skeleton:
                    found[row] = loanword_likeness(float(near[row]))
        return self._by_title(found)

    def _near(self, key: str, least: float) -> NDArray[np.float64]:
        """How alike the key and each name are; 0 where it is less than `least`."""
        near = cdist((key,), self._keys, scorer=OSA.normalized_similarity, score_cutoff=least, dtype=np.float64)
        return np.asarray(near[0])

    def _beginning(self, keys: tuple[str, ...]) -> list[int]:
        """Rows of keys. Without a line of Python a name: there are thousands, and few begin with anything."""
        return list(compress(count(), map(methodcaller("startswith", keys), self._keys)))

    def _by_title(self, rows: NDArray[np.float64]) -> Floats:
        found = np.zeros(self._titles, np.float32)
        np.maximum.at(found, self._owners, rows.astype(np.float32))
        return found
