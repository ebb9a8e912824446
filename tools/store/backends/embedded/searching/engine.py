"""Searching a loaded catalogue. Blocking and pure; the catalogue runs it off the event loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tools.store.backends.embedded.columns import TitleColumns
from tools.store.backends.embedded.lexical.index import LexicalIndex
from tools.store.backends.embedded.meaning.vectors import Vectors
from tools.store.backends.embedded.searching.candidates import Legs, WholeCatalog
from tools.store.backends.embedded.searching.conditions import allowed_by
from tools.store.backends.embedded.searching.likeness import like_facets, like_title
from tools.store.models import Facets, Filters, Ordering
from tools.store.search.arrays import Floats, Mask
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.fusion import order
from tools.store.search.ranking.names import pointed_from
from tools.store.search.ranking.ranked import Ranked, rank
from tools.store.search.ranking.weights import Weights


@dataclass(frozen=True, slots=True)
class Hits:
    """Numbers of the best titles, best first, and how many match in all. `by_query`: the text asked for something.
    `guessed` and `near` as in `CatalogPage`."""

    numbers: Sequence[int]
    total: int
    by_query: bool = True
    guessed: bool = False
    near: Sequence[int] = ()


class Engine:
    """Read only after construction; safe to share between threads."""

    def __init__(
        self, columns: TitleColumns, index: LexicalIndex, parser: QueryParser, weights: Weights | None = None
    ) -> None:
        self._columns, self._parser = columns, parser
        self._legs = Legs.of(columns, index)
        self._weights = weights or Weights()

    def search(self, text: str, filters: Filters, limit: int, vector: Floats | None, vectors: Vectors | None) -> Hits:
        """The best `limit` titles for the query under the filters; without its `vector` the vector leg is left out."""
        query, allowed = self._parser.parse(text, filters.author), self._allowed(filters)
        if query.empty:
            return self._popular(allowed, limit, query.ordering)
        pointed = self._pointed_from(query)
        if pointed is not None and query.similar_to:
            alike = like_title(self._columns, pointed, vectors, self._weights)
            return self._hits(Ranked(np.where(allowed, alike, np.float32(0.0)), ordering=query.ordering), limit)
        senses = None if vector is None or vectors is None else vectors.cosines(vector)
        candidates = WholeCatalog(self._legs, allowed, senses, pointed)
        return self._hits(rank(query, candidates, self._weights, allowed), limit)

    def popular(self, filters: Filters, limit: int) -> Hits:
        """The best known titles under the filters."""
        return self._popular(self._allowed(filters), limit, None)

    def alike(self, facets: Facets, limit: int) -> Hits:
        """Titles that share tags or authors with `facets`, best match first."""
        scores = like_facets(self._columns, facets, self._weights)
        return Hits(order(scores, limit).tolist(), int(np.count_nonzero(scores)))

    def _popular(self, allowed: Mask, limit: int, ordering: Ordering | None) -> Hits:
        """Those of equal popularity in the order of their rank."""
        every = self._columns.ordered[ordering or Ordering.POPULARITY]
        numbers = every[allowed[every]]
        return Hits(numbers[:limit].tolist(), len(numbers), by_query=False)

    def _hits(self, ranked: Ranked, limit: int) -> Hits:
        if ranked.ordering is None:
            numbers = ranked.best(limit)
        else:
            every = self._columns.ordered[ranked.ordering]
            numbers = every[ranked.scores[every] > 0][:limit].tolist()
        return Hits(numbers, ranked.answers, guessed=ranked.guessed, near=ranked.near)

    def _allowed(self, filters: Filters) -> Mask:
        return allowed_by(filters, self._columns, self._legs.people)

    def _pointed_from(self, query: ParsedQuery) -> int | None:
        """The number of the title that the query points from, whatever the filters say of it."""
        if (name := query.points_from) is None:
            return None
        every = WholeCatalog(self._legs, np.ones(len(self._columns), np.bool_))
        return pointed_from(name, self._parser.parse(name).aliases, every, self._weights)
