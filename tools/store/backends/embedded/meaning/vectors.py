"""The vectors of a catalogue and their cosines with a query: brute force, exact, one matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.store.models import Title
from tools.store.search.titles.document import headline, passages

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class VectorPlan:
    """What to embed: `texts[:titles]` are the headlines in order; text titles + i is a passage of title `owners[i]`."""

    texts: Sequence[str]
    owners: NDArray[np.int32]
    titles: int


def plan_vectors(titles: Sequence[Title]) -> VectorPlan:
    texts = [headline(t) for t in titles]
    pieces = [(number, piece) for number, title in enumerate(titles) for piece in passages(title)]
    return VectorPlan([*texts, *(p for _, p in pieces)], np.array([n for n, _ in pieces], np.int32), len(titles))


@dataclass(frozen=True, slots=True)
class Vectors:
    """`matrix` has shape (texts, dimensions), rows of unit length, in the order of the plan."""

    matrix: Floats
    owners: NDArray[np.int32]
    titles: int

    def cosines(self, query: Floats) -> tuple[Floats, Floats]:
        """(best passage, headline) of each title, shape (titles,). A title without passages has 0 for them."""
        rows = self.matrix @ query
        meaning = np.zeros(self.titles, np.float32)
        np.maximum.at(meaning, self.owners, rows[self.titles :])
        return meaning, rows[: self.titles]

    def of(self, number: int) -> Floats:
        """One direction for a title: the sum of its vectors, of unit length."""
        total = self.matrix[number] + self.matrix[self.titles :][self.owners == number].sum(axis=0)
        return np.asarray(total / max(1e-6, float(np.linalg.norm(total))), np.float32)
