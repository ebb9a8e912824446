"""Stores facts of titles as NumPy arrays, for computations over all titles at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]


Numbers = NDArray[np.int32]
Having = Mapping[str, Numbers]
"""For each value of a field, the numbers of the titles that have it."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Facts of the titles, column by column: row i of every array belongs to the title with number i. `numbers` maps title
    ids to rows; `prior` is fame, 0 to 1; `year` is the start year, NaN if unknown. `having` maps a field (tags, genre,
    magazine, author) and a value to the rows of the titles with this value. `related` holds the ids of related titles."""

    numbers: Mapping[str, int]
    prior: Floats
    year: NDArray[np.float64]
    having: Mapping[str, Having]
    related: Sequence[Sequence[str]]

    def __len__(self) -> int:
        return len(self.prior)

    def any_of(self, field: str, values: Iterable[str]) -> Mask:
        found, having = self.none(), self.having[field]
        for value in values:
            if value in having:
                found[having[value]] = True
        return found

    def of_ids(self, title_ids: Iterable[str]) -> Mask:
        found = self.none()
        found[[self.numbers[each] for each in title_ids if each in self.numbers]] = True
        return found

    def shares(self, field: str, shares: Mapping[str, float]) -> Floats:
        """Returns, for each title, the largest of the `shares` of its values of `field`; 0 if no value has a share."""
        found, having = np.zeros(len(self), np.float32), self.having[field]
        for value in sorted(having.keys() & shares.keys(), key=lambda each: shares[each]):
            found[having[value]] = shares[value]
        return found

    def sums(self, field: str, weights: Mapping[str, float]) -> Floats:
        """Returns, for each title, the sum of the `weights` of its values of `field`."""
        found, having = np.zeros(len(self), np.float32), self.having[field]
        for value, weight in weights.items():
            if value in having:
                found[having[value]] += np.float32(weight)
        return found

    def none(self) -> Mask:
        return np.zeros(len(self), np.bool_)


def having(values: Iterable[Iterable[str | None]]) -> dict[str, Numbers]:
    """Returns the numbers of the titles by value. `values` holds each title's values; None is left out."""
    lists: dict[str | None, list[int]] = defaultdict(list)
    for number, each in enumerate(values):
        for value in dict.fromkeys(each):
            lists[value].append(number)
    return {value: np.array(numbers, np.int32) for value, numbers in lists.items() if value is not None}
