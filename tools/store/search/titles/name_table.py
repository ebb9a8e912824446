"""The names of several titles as one column, so that a key is compared with all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress, count
from operator import methodcaller

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from tools.store.search.arrays import Floats, Mask, Rows
from tools.store.search.text.romaji import MIN_CONSONANTS, consonants, is_loanword, sound_key
from tools.store.search.titles.names import LOANWORD_LEAST, MAIN_FACTOR, NameKeys, begun_likeness, heard, loanword_likeness

LEAST = 0.5
"""Smaller likenesses need not be measured: no rule of the fusion asks for less."""


class NameTable:
    """The names of titles, whose rows are the rows of every answer: arrays of shape (titles,), 0 to 1. One that has many
    names looks at those alone that an index finds (`_like`, `_beginning`, `_of_consonants`). Read only; safe to share
    between threads."""

    def __init__(self, titles: Iterable[NameKeys]) -> None:
        named = list(titles)
        keys = [key for each in named for key in each.all]
        owners = np.repeat(np.arange(len(named)), np.array([len(each.all) for each in named], np.intp))
        main = [is_main for each in named for is_main in (False,) * len(each.whole) + (True,) * len(each.main)]
        self._keep(keys, owners, np.array(main, np.bool_), len(named))

    def _keep(self, keys: Sequence[str], owners: NDArray[np.signedinteger], main: Mask, titles: int) -> None:
        """`owners` are the titles' rows, in order; `main` marks parts before a subtitle."""
        self._keys, self._owners, self._titles = keys, owners, titles
        self._factors = np.where(main, MAIN_FACTOR, 1.0)

    def likeness(self, asked: Sequence[tuple[str, float]], among: Mask | None = None) -> Floats:
        """How near the nearest of the keys, each with its factor, is to the nearest name: 1 is equal, 0.95 equal before a
        subtitle, about 0.7 a typo or two. Below `LEAST` it may be said to be farther than it is. 0 for titles not `among`
        those.

        Typos count as edits with transposition (optimal string alignment; Damerau 1964) over the length of the longer one.
        A query that begins a name counts by the share of the name that it covers, since readers stop typing early; one that
        sounds like a name counts as one typo.
        """
        found = np.zeros(self._titles, np.float32)
        for key, factor in asked:
            rows = self._like(key, among)
            names = self._keys if rows is None else [self._keys[row] for row in rows.tolist()]
            near = cdist((key,), names, scorer=OSA.normalized_similarity, score_cutoff=LEAST, dtype=np.float64)[0]
            self._raise(found, rows, factor * heard(key, names, near))
        begun = self._begun(asked)
        np.maximum(found, begun, out=found)
        return found if among is None else np.where(among, found, np.float32(0.0))

    def beginning_with(self, keys: Sequence[str]) -> Floats:
        """How much of a title's name the nearest of `keys` is, where one begins it; 0 elsewhere."""
        return self._begun([(key, 1.0) for key in keys])

    def spelled_in_katakana(self, text: str) -> Floats:
        """How near a text in katakana is to the nearest Latin name that it may spell; 0 where it is none."""
        found = np.zeros(self._titles, np.float32)
        skeleton = consonants(text) if is_loanword(text) else ""
        if len(skeleton) >= MIN_CONSONANTS:
            key = sound_key(text)
            rows = self._of_consonants(skeleton, key)
            near = [loanword_likeness(OSA.normalized_similarity(key, self._keys[row])) for row in rows]
            np.maximum.at(found, self._owners[rows], np.array(near, np.float32))
        return found

    def keys_of(self, title: int) -> tuple[str, ...]:
        """All sound keys of a title."""
        first, last = np.searchsorted(self._owners, [title, title + 1])
        return tuple(self._keys[first:last])

    def _like(self, key: str, among: Mask | None) -> Rows | None:
        """Rows of the names that may be like the key, of titles `among` those where that is given; None for all."""
        return None

    def _beginning(self, keys: tuple[str, ...]) -> list[int]:
        """Rows of names that begin with a key. Without a line of Python a name: there are thousands, and few begin with
        anything."""
        return list(compress(count(), map(methodcaller("startswith", keys), self._keys)))

    def _of_consonants(self, skeleton: str, key: str) -> list[int]:
        """Rows of Latin names with these consonants. Those are costly to read: only of names that are near enough to
        count."""
        near = cdist((key,), self._keys, scorer=OSA.normalized_similarity, score_cutoff=LOANWORD_LEAST)[0]
        latin = ((row, self._keys[row]) for row in np.flatnonzero(near).tolist())
        return [row for row, name in latin if name.isascii() and consonants(name) == skeleton]

    def _begun(self, asked: Sequence[tuple[str, float]]) -> Floats:
        found = np.zeros(self._titles, np.float32)
        rows = self._beginning(tuple(key for key, _ in asked))
        names = [self._keys[row] for row in rows]
        near = [max(factor * begun_likeness(key, n) for key, factor in asked if n.startswith(key)) for n in names]
        self._raise(found, np.array(rows, np.intp), np.array(near, np.float64))
        return found

    def _raise(self, found: Floats, rows: Rows | None, near: NDArray[np.float64]) -> None:
        """Raises `found` to the likeness of these rows' names, counted as parts of a name where they are."""
        picked = slice(None) if rows is None else rows
        np.maximum.at(found, self._owners[picked], (near * self._factors[picked]).astype(np.float32))
