"""Searching a loaded catalogue: filters, legs, fusion. Blocking and pure; the catalogue runs it off the event loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.embedded.alike import alike, similar_to
from tools.store.backends.embedded.index import LexicalIndex
from tools.store.backends.embedded.legs import Legs
from tools.store.backends.embedded.shelf import Shelf
from tools.store.backends.embedded.vectors import Vectors
from tools.store.models import Facets, Filters, Ordering
from tools.store.search.evidence import Evidence
from tools.store.search.fusion import Weights, fuse, order, with_kin
from tools.store.search.guessing import is_guess, near_names, ordering_of
from tools.store.search.query import ParsedQuery, QueryReader

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Numbers of the best titles, best first, and how many match in all. `by_query`: the text asked for something.
    `guessed` and `near` as in `CatalogPage`."""

    numbers: NDArray[np.intp]
    total: int
    by_query: bool = True
    guessed: bool = False
    near: Sequence[int] = ()


class Engine:
    """Read only after construction; safe to share between threads."""

    def __init__(self, shelf: Shelf, index: LexicalIndex, reader: QueryReader, weights: Weights | None = None) -> None:
        self._shelf, self._reader = shelf, reader
        self._legs = Legs(shelf, index)
        self._weights = weights or Weights()

    def search(self, text: str, filters: Filters, limit: int, vector: Floats | None, vectors: Vectors | None) -> Ranked:
        """The best `limit` titles for the query under the filters; without its `vector` the vector leg is left out."""
        allowed = self._allowed(filters)
        reading = self._reader.read(text, filters.author)
        if reading.empty:
            return self._popular(allowed, limit, reading.ordering)
        anchor = self._anchor(reading.same_author_as or reading.similar_to)
        if anchor is not None and reading.similar_to:
            scores = np.where(allowed, similar_to(self._shelf, anchor, vectors), np.float32(0.0))
            return Ranked(self._best(scores, reading.ordering, limit), int(np.count_nonzero(scores)))
        return self._found(reading, allowed, self._legs.evidence(reading, allowed, anchor, vector, vectors), limit)

    def popular(self, filters: Filters, limit: int) -> Ranked:
        """The best known titles under the filters."""
        return self._popular(self._allowed(filters), limit)

    def alike(self, facets: Facets, limit: int) -> Ranked:
        """Titles that share tags or authors with `facets`, best match first."""
        scores = alike(self._shelf, facets)
        return Ranked(order(scores, limit), int(np.count_nonzero(scores)))

    def _popular(self, allowed: Mask, limit: int, ordering: Ordering | None = None) -> Ranked:
        """Those of equal popularity in the order of their rank."""
        all_titles = self._shelf.by_fame if ordering is None else self._shelf.ordered[ordering]
        hits = all_titles[allowed[all_titles]]
        return Ranked(hits[:limit], len(hits), by_query=False)

    def _found(self, reading: ParsedQuery, allowed: Mask, evidence: Evidence, limit: int) -> Ranked:
        scores = np.where(allowed, fuse(reading, evidence, self._weights), np.float32(0.0))
        # A series may hold what a filter leaves out.
        scores = np.where(allowed, self._with_kin(scores, evidence), np.float32(0.0))
        if not scores.any():
            return Ranked(np.empty(0, np.intp), 0, near=near_names(evidence))
        ordering = ordering_of(reading, scores, evidence, self._weights)
        guessed = is_guess(scores, evidence, self._weights)
        return Ranked(self._best(scores, ordering, limit), int(np.count_nonzero(scores)), guessed=guessed)

    def _best(self, scores: Floats, ordering: Ordering | None, limit: int) -> NDArray[np.intp]:
        if ordering is None:
            return order(scores, limit)
        every = self._shelf.ordered[ordering]
        return np.asarray(every[scores[every] > 0][:limit], np.intp)

    def _allowed(self, filters: Filters) -> Mask:
        """Shape (titles,): the predicates of tools.store.search.filters, by columns."""
        mask = np.ones(len(self._shelf), np.bool_)
        if filters.genre is not None:
            mask &= self._shelf.by_genre.get(filters.genre, np.False_)
        if filters.min_rating is not None and filters.min_rating > 0:
            mask &= self._shelf.rating >= filters.min_rating
        if filters.author is not None:
            mask &= self._legs.by_author(filters.author)
        return mask

    def _with_kin(self, scores: Floats, evidence: Evidence) -> Floats:
        best = int(np.argmax(scores))
        if scores[best] <= 0:
            return scores
        return with_kin(scores, evidence, lambda: self._legs.kin_of(best), self._weights)

    def _anchor(self, name: str | None) -> int | None:
        return None if name is None else self._legs.called(name, self._reader.read(name).aliases)
