"""Columns of the titles' common facts, for rules over all titles at once."""

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
"""The numbers of the titles that have each value of a field."""


@dataclass(frozen=True, slots=True)
class Columns:
    """A title's number is its row; arrays have one row a title. `numbers` are by id, `having` by field (tags, genre,
    magazine, author), `related` the ids that the catalogue relates to each title; `year` is NaN where unknown."""

    numbers: Mapping[str, int]
    prior: Floats
    year: NDArray[np.float64]
    having: Mapping[str, Having]
    related: Sequence[Sequence[str]]

    def __len__(self) -> int:
        return len(self.prior)

    def any_of(self, field: str, values: Iterable[str]) -> Mask:
        """Shape (titles,): whether a title has one of the values."""
        found, having = self.none(), self.having[field]
        for value in values:
            if value in having:
                found[having[value]] = True
        return found

    def of_ids(self, title_ids: Iterable[str]) -> Mask:
        """Shape (titles,): whether a title has one of these ids."""
        found = self.none()
        found[[self.numbers[each] for each in title_ids if each in self.numbers]] = True
        return found

    def shares(self, field: str, shares: Mapping[str, float]) -> Floats:
        """Shape (titles,): the largest share among those of the values that each title has."""
        found, having = np.zeros(len(self), np.float32), self.having[field]
        for value in sorted(having.keys() & shares.keys(), key=lambda each: shares[each]):
            found[having[value]] = shares[value]
        return found

    def sums(self, field: str, weights: Mapping[str, float]) -> Floats:
        """Shape (titles,): the sum of the weights of the values that each title has."""
        found, having = np.zeros(len(self), np.float32), self.having[field]
        for value, weight in weights.items():
            if value in having:
                found[having[value]] += np.float32(weight)
        return found

    def none(self) -> Mask:
        return np.zeros(len(self), np.bool_)


def having(values: Iterable[Iterable[str | None]]) -> dict[str, Numbers]:
    """Returns the numbers of the titles that have each value, from the values of each title."""
    lists: dict[str | None, list[int]] = defaultdict(list)
    for number, each in enumerate(values):
        for value in dict.fromkeys(each):
            lists[value].append(number)
    return {value: np.array(numbers, np.int32) for value, numbers in lists.items() if value is not None}
