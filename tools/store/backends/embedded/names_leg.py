"""The leg that finds titles by their names: grams recall rows, edit distance judges them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA

from tools.store.backends.embedded.index import NameRows
from tools.store.search.loans import MIN_CONSONANTS, consonants, is_loan
from tools.store.search.names import MAIN_FACTOR, loan_likeness, one_likeness
from tools.store.search.romaji import sound_key
from tools.store.search.tokens import grams

Floats = NDArray[np.float32]
_RECALL = 120
_PREFIX_ROWS = 200
_EPSILON = 1e-6


class NamesLeg:
    """Searches the name rows. Read only after construction; safe to share between threads."""

    def __init__(self, rows: NameRows, titles: int) -> None:
        self._rows = rows
        self._titles = titles
        self._masses = rows.grams.masses() + np.float32(_EPSILON)
        self._loans = _loans(rows)
        self._sorted = sorted(range(len(rows.keys)), key=rows.keys.__getitem__)
        self._sorted_keys = [rows.keys[r] for r in self._sorted]

    def find(self, keys: Iterable[tuple[str, float]], allowed: NDArray[np.bool_]) -> Floats:
        """Shape (titles,): the likeness of each title to the nearest of `keys` (sound key, factor); 0 where not recalled."""
        found = np.zeros(self._titles, np.float32)
        for key, factor in keys:
            for row in self._recall(key, allowed) | set(self.beginning_with(key)):
                self._judge(found, row, key, factor)
        return np.where(allowed, found, np.float32(0.0))

    def add_loans(self, found: Floats, text: str) -> None:
        """Raises in `found` the titles whose Latin name `text` spells in katakana."""
        if not is_loan(text):
            return
        key = sound_key(text)
        for row in self._loans.get(consonants(text), ()):
            title = int(self._rows.titles[row])
            found[title] = max(found[title], loan_likeness(OSA.normalized_similarity(key, self._rows.keys[row])))

    def kin(self, found: Floats, keys: Iterable[str], factor: float) -> None:
        """Raises in `found` the titles whose names begin with one of `keys`: sequels and spin-offs of the one that is
        called so.
        """
        for key in keys:
            for row in self.beginning_with(key):
                self._judge(found, row, key, factor)

    def keys_of(self, number: int) -> tuple[str, ...]:
        """All sound keys of a title."""
        return tuple(self._rows.keys[r] for r in np.flatnonzero(self._rows.titles == number).tolist())

    def beginning_with(self, key: str) -> list[int]:
        """Rows whose key begins with `key`, at most 200."""
        start = bisect_left(self._sorted_keys, key)
        stop = bisect_left(self._sorted_keys, key + "\U0010ffff", lo=start)
        return self._sorted[start : min(stop, start + _PREFIX_ROWS)]

    def _judge(self, found: Floats, row: int, key: str, factor: float) -> None:
        likeness = factor * one_likeness(key, self._rows.keys[row]) * (MAIN_FACTOR if self._rows.main[row] else 1.0)
        title = self._rows.titles[row]
        if likeness > found[title]:
            found[title] = likeness

    def _recall(self, key: str, allowed: NDArray[np.bool_]) -> set[int]:
        """The rows with the best Dice coefficient of idf-weighted grams."""
        asked = dict.fromkeys(grams(key), 1.0)
        shared = self._rows.grams.score(asked)
        dice = 2.0 * shared / (self._masses + np.float32(self._rows.grams.weight_of(asked)))
        dice[~allowed[self._rows.titles]] = 0.0
        best = np.argpartition(-dice, _RECALL)[:_RECALL] if len(dice) > _RECALL else np.arange(len(dice))
        return {int(r) for r in best if dice[r] > 0.0}


def _loans(rows: NameRows) -> dict[str, list[int]]:
    """Rows of Latin names by their consonants."""
    loans: dict[str, list[int]] = defaultdict(list)
    for row, key in enumerate(rows.keys):
        if key.isascii() and len(skeleton := consonants(key)) >= MIN_CONSONANTS:
            loans[skeleton].append(row)
    return loans
