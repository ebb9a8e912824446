"""A reader's taste over columns: all titles at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from tools.store.backends.embedded.columns import Numbers, TitleColumns, counts
from tools.store.models import ReaderQuery
from tools.store.search.arrays import Floats, Mask
from tools.store.search.taste.profile import Rarity, profile_of
from tools.store.search.taste.rule import worth
from tools.store.search.taste.weights import TasteWeights


class ColumnTaste:
    """`tools.store.search.taste.candidates.TasteCandidates` for the whole catalogue: a row is a title's number. Read only
    after construction; safe to share between threads."""

    def __init__(self, columns: TitleColumns, weights: TasteWeights | None = None) -> None:
        self._columns, self._weights = columns, weights or TasteWeights()
        self._rarity = Rarity(counts(columns.by_tag), len(columns), self._weights)
        self._lengths = self._tag_lengths()
        self._works = _works(columns)
        self.prior = columns.prior

    def scores(self, query: ReaderQuery, allowed: Mask) -> Floats:
        """Shape (titles,): how much each title is to the reader's taste; 0 for what is no answer."""
        found = worth(query, profile_of(query, self._rarity), self, self._rarity, self._weights)
        left = allowed & ~self._columns.of_ids(query.known)
        return np.where(left, found, np.float32(0.0)).astype(np.float32)

    def sharing(self, tags: Mapping[str, float]) -> Floats:
        found = self._zeros()
        for tag, weight in tags.items():
            if (numbers := self._columns.by_tag.get(tag)) is not None:
                found[numbers] += np.float32(weight * self._rarity(tag))
        return np.asarray(found / self._lengths, np.float32)

    def tagged(self, tags: Sequence[str]) -> Mask:
        return self._columns.tagged(tags)

    def of_readerships(self, shares: Mapping[str, float]) -> Floats:
        found = self._zeros()
        for genre, share in shares.items():
            found[self._columns.of_genre(genre)] = share
        return found

    def of_magazines(self, shares: Mapping[str, float]) -> Floats:
        return self._best(self._columns.by_magazine, shares)

    def of_authors(self, shares: Mapping[str, float]) -> Floats:
        return self._best(self._works, shares)

    def near_years(self, years: Mapping[int, float], span: float) -> Floats:
        found = np.zeros(len(self.prior), np.float64)
        for year, share in years.items():
            found += share * np.exp(-np.abs(self._columns.year - year) / span)
        return np.nan_to_num(found).astype(np.float32)

    def worth(self, fits: Mapping[str, float]) -> Floats:
        found = self._zeros()
        for title_id, fit in fits.items():
            if (number := self._columns.numbers.get(title_id)) is not None:
                found[number] = fit
        return found

    def _best(self, numbers: Mapping[str, Numbers], shares: Mapping[str, float]) -> Floats:
        """The largest share among those that each title has."""
        found = self._zeros()
        for value, share in sorted(shares.items(), key=lambda each: each[1]):
            if value in numbers:
                found[numbers[value]] = share
        return found

    def _tag_lengths(self) -> Floats:
        """Of each title's vector of tags; 1 where it has none."""
        squares = np.zeros(len(self._columns), np.float64)
        for tag, numbers in self._columns.by_tag.items():
            squares[numbers] += self._rarity(tag) ** 2
        return np.where(squares > 0, np.sqrt(squares), 1.0).astype(np.float32)

    def _zeros(self) -> Floats:
        return np.zeros(len(self._columns), np.float32)


def _works(columns: TitleColumns) -> dict[str, Numbers]:
    """The numbers of the titles by authors of each name."""
    works: dict[str, list[Numbers]] = defaultdict(list)
    for author, numbers in zip(columns.authors, columns.works, strict=True):
        works[author.name].append(numbers)
    return {name: np.unique(np.concatenate(lists)) for name, lists in works.items()}
