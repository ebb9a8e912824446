"""The lexical index of a catalogue: names by character grams, prose by words, and what exact filters need."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.embedded.columns import authors_of
from tools.store.models import Title
from tools.store.search.text.tokens import grams
from tools.store.search.titles.document import prose_terms
from tools.store.search.titles.names import NameKeys
from tools.store.search.titles.people import AuthorKeys

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class SparseIndex:
    """`rows[starts[t]:starts[t+1]]` are the rows that hold term t, with `weights` beside them; `idf` is by term."""

    vocabulary: Mapping[str, int]
    starts: NDArray[np.int64]
    rows: Ints
    weights: Floats
    idf: Floats
    size: int

    def score(self, terms: Mapping[str, float]) -> Floats:
        """Shape (size,): for each row the sum of idf × weight × the asked weight over the terms it holds."""
        held = [(t, asked) for term, asked in terms.items() if (t := self.vocabulary.get(term)) is not None]
        if not held:
            return np.zeros(self.size, dtype=np.float32)
        numbers, asked = np.array([t for t, _ in held]), np.array([asked for _, asked in held], np.float32)
        first, last = self.starts[numbers], self.starts[numbers + 1]
        parts = [slice(*ends) for ends in zip(first.tolist(), last.tolist(), strict=True)]
        values = np.concatenate([self.weights[part] for part in parts])
        values *= np.repeat(self.idf[numbers] * asked, last - first)
        rows = np.concatenate([self.rows[part] for part in parts])
        return np.bincount(rows, weights=values, minlength=self.size).astype(np.float32)

    def covered(self, asked: Sequence[Sequence[str]]) -> Floats:
        """Shape (size,): the share of the idf mass of what is asked that each row holds. A group of terms is one word in
        several spellings: as frequent as all of them, and held as well as the best of them is."""
        total, most = np.zeros(self.size, np.float32), 1e-6
        for group in asked:
            parts = [
                slice(self.starts[t], self.starts[t + 1]) for term in group if (t := self.vocabulary.get(term)) is not None
            ]
            idf = idf_of(sum(part.stop - part.start for part in parts), self.size)
            most += idf
            total += np.float32(idf) * self._best(parts)
        return total / np.float32(most)

    def _best(self, parts: Sequence[slice]) -> Floats:
        best = np.zeros(self.size, np.float32)
        for part in parts:
            rows = self.rows[part]
            best[rows] = np.maximum(best[rows], self.weights[part])
        return best

    def most_alike(self, terms: Sequence[str], masses: Floats, most: int, among: NDArray[np.bool_] | None = None) -> Ints:
        """The rows with the best Dice coefficients of idf-weighted terms, at most so many, in any order; of the rows `among`
        alone where that is given. `masses` are those of `masses()`."""
        asked = dict.fromkeys(terms, 1.0)
        dice = 2.0 * self.score(asked) / (masses + np.float32(self.weight_of(asked)))
        if among is not None:
            dice[~among] = 0.0
        best = np.argpartition(-dice, most)[:most] if len(dice) > most else np.arange(len(dice))
        return np.asarray(best[dice[best] > 0.0], np.int32)

    def masses(self) -> Floats:
        """Shape (size,): for each row the sum of idf × weight over all its terms."""
        spread = np.repeat(self.idf, np.diff(self.starts))
        return np.bincount(self.rows, weights=spread * self.weights, minlength=self.size).astype(np.float32)

    def weight_of(self, terms: Mapping[str, float]) -> float:
        """The score of a row with weight 1 in every asked term. Unknown terms count as the rarest."""
        rarest, numbers = idf_of(0, self.size), [self.vocabulary.get(term) for term in terms]
        known = iter(self.idf[[t for t in numbers if t is not None]].tolist())
        return sum(asked * (rarest if t is None else next(known)) for t, asked in zip(numbers, terms.values(), strict=True))

    def in_vocabulary(self, terms: Sequence[str]) -> float:
        """The share of the terms' idf mass that is in terms of the vocabulary; 0 when nothing is asked."""
        each = dict.fromkeys(terms, 1.0)
        asked = self.weight_of(each)
        return self.weight_of({t: w for t, w in each.items() if t in self.vocabulary}) / asked if asked else 0.0


def idf_of(rows: int, size: int) -> float:
    """The idf of a term that so many rows hold, at most all of them."""
    held = min(rows, size)
    return math.log(1.0 + (size - held + 0.5) / (held + 0.5))


def build(documents: Iterable[Mapping[str, float]], *, k1: float = 1.2, b: float = 0.3) -> SparseIndex:
    """Index of `documents` (term → weighted frequency), one row each, with saturating BM25 weights between 0 and k1 + 1."""
    vocabulary: dict[str, int] = {}
    terms, rows, frequencies, lengths = [], [], [], []
    for row, document in enumerate(documents):
        for term, frequency in document.items():
            terms.append(vocabulary.setdefault(term, len(vocabulary)))
            rows.append(row)
            frequencies.append(frequency)
        lengths.append(sum(document.values()))
    return _assemble(vocabulary, np.array(terms, np.int32), np.array(rows, np.int32), np.array(frequencies, np.float32),
                     np.array(lengths, np.float32), k1, b)  # fmt: skip


def _assemble(
    vocabulary: dict[str, int], terms: Ints, rows: Ints, frequencies: Floats, lengths: Floats, k1: float, b: float
) -> SparseIndex:
    size = len(lengths)
    order = np.argsort(terms, kind="stable")
    counts = np.bincount(terms, minlength=len(vocabulary))
    norm = 1.0 - b + b * lengths / max(1.0, float(lengths.mean()) if size else 1.0)
    saturated = frequencies * (k1 + 1.0) / (frequencies + k1 * norm[rows])
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    idf = np.log(1.0 + (size - counts + 0.5) / (counts + 0.5)).astype(np.float32)
    return SparseIndex(vocabulary, starts, rows[order], saturated[order].astype(np.float32), idf, size)


@dataclass(frozen=True, slots=True)
class NameRows:
    """One row a name, in the order of the titles: `keys[r]` is a sound key of title `titles[r]`; `main` marks parts before
    a subtitle."""

    keys: Sequence[str]
    titles: Ints
    main: NDArray[np.bool_]
    grams: SparseIndex


@dataclass(frozen=True, slots=True)
class PeopleRows:
    """One row a spelling of an author's name: its sound key, or one part of the Latin name (`part`), and the author's
    number (TitleColumns.authors).
    """

    keys: Sequence[str]
    authors: Ints
    part: NDArray[np.bool_]
    grams: SparseIndex


@dataclass(frozen=True, slots=True)
class LexicalIndex:
    """Rows and terms that are costly to compute from the titles, and kept on disk."""

    names: NameRows
    people: PeopleRows
    prose: SparseIndex


def build_index(titles: Sequence[Title]) -> LexicalIndex:
    """Takes about 0.3 ms a title."""
    return LexicalIndex(_names(titles), _people(titles), build((prose_terms(t) for t in titles), b=0.25))


def _names(titles: Sequence[Title]) -> NameRows:
    keys: list[str] = []
    owners: list[int] = []
    main: list[bool] = []
    for number, title in enumerate(titles):
        named = NameKeys.of(title)
        for part, group in ((False, named.whole), (True, named.main)):
            keys.extend(group)
            owners.extend([number] * len(group))
            main.extend([part] * len(group))
    return NameRows(keys, np.array(owners, np.int32), np.array(main, np.bool_), gram_index(keys))


def _people(titles: Sequence[Title]) -> PeopleRows:
    keys: list[str] = []
    owners: list[int] = []
    parts: list[bool] = []
    for number, author in enumerate(authors_of(titles)):
        named = AuthorKeys.of(author)
        for part, group in ((False, named.spellings), (True, tuple(sorted(named.parts)))):
            keys.extend(group)
            owners.extend([number] * len(group))
            parts.extend([part] * len(group))
    whole = [key if not part else "" for key, part in zip(keys, parts, strict=True)]
    return PeopleRows(keys, np.array(owners, np.int32), np.array(parts, np.bool_), gram_index(whole))


def gram_index(keys: Sequence[str]) -> SparseIndex:
    """Rows by the set of their grams, each gram weighted by its idf alone."""
    return build((dict.fromkeys(grams(key), 1.0) if key else {} for key in keys), k1=0.0, b=0.0)
