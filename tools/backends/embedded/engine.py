"""Searching a loaded catalogue: filters, legs, fusion. Blocking and pure; the catalogue runs it off the event loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.backends.embedded.alike import alike, similar_to
from tools.backends.embedded.index import LexicalIndex
from tools.backends.embedded.legs import Legs
from tools.backends.embedded.shelf import Shelf
from tools.backends.embedded.vectors import Vectors
from tools.models import Facets, Filters
from tools.search.evidence import Evidence
from tools.search.fusion import Weights, fuse, order, with_kin
from tools.search.query import QueryReader, Reading

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Found:
    """Numbers of the best titles, best first, and how many match in all. `by_query`: the text asked for something."""

    numbers: NDArray[np.intp]
    total: int
    by_query: bool = True


class Engine:
    """Read only after construction; safe to share between threads."""

    def __init__(self, shelf: Shelf, index: LexicalIndex, reader: QueryReader, weights: Weights | None = None) -> None:
        self._shelf, self._reader = shelf, reader
        self._legs = Legs(shelf, index)
        self._weights = weights or Weights()

    def search(self, text: str, filters: Filters, limit: int, vector: Floats | None, vectors: Vectors | None) -> Found:
        """The best `limit` titles for the query under the filters; without its `vector` the vector leg is left out."""
        allowed = self._allowed(filters)
        reading = self._reader.read(text)
        if reading.empty:
            return self._popular(allowed, limit)
        scores = np.where(allowed, self._scores(reading, allowed, vector, vectors), np.float32(0.0))
        return Found(order(scores, limit), int(np.count_nonzero(scores)))

    def popular(self, filters: Filters, limit: int) -> Found:
        """The best known titles under the filters."""
        return self._popular(self._allowed(filters), limit)

    def alike(self, facets: Facets, limit: int) -> Found:
        """Titles that share tags or authors with `facets`, best match first."""
        scores = alike(self._shelf, facets)
        return Found(order(scores, limit), int(np.count_nonzero(scores)))

    def _popular(self, allowed: Mask, limit: int) -> Found:
        hits = self._shelf.by_fame[allowed[self._shelf.by_fame]]
        return Found(hits[:limit], len(hits), by_query=False)

    def _allowed(self, filters: Filters) -> Mask:
        """Shape (titles,): the predicates of tools.search.filters, by columns."""
        mask = np.ones(len(self._shelf), np.bool_)
        if filters.genre is not None:
            mask &= self._shelf.by_genre.get(filters.genre, np.False_)
        if filters.min_rating is not None and filters.min_rating > 0:
            mask &= self._shelf.rating >= filters.min_rating
        if filters.author is not None:
            mask &= self._legs.by_author(filters.author)
        return mask

    def _scores(self, reading: Reading, allowed: Mask, vector: Floats | None, vectors: Vectors | None) -> Floats:
        anchor = self._anchor(reading.same_author_as or reading.similar_to)
        if anchor is not None and reading.similar_to:
            return similar_to(self._shelf, anchor, vectors)
        evidence = self._legs.evidence(reading, allowed, anchor, vector, vectors)
        scores = np.where(allowed, fuse(reading, evidence, self._weights), np.float32(0.0))
        return self._with_kin(scores, evidence)

    def _with_kin(self, scores: Floats, evidence: Evidence) -> Floats:
        best = int(np.argmax(scores))
        if scores[best] <= 0:
            return scores
        return with_kin(scores, evidence, lambda: self._legs.kin_of(best), self._weights)

    def _anchor(self, name: str | None) -> int | None:
        return None if name is None else self._legs.called(name, self._reader.read(name).aliases)
