"""Searching a loaded catalogue. Blocking and pure; the catalogue runs it off the event loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tools.store.backends.embedded.columns import TitleColumns, counts
from tools.store.backends.embedded.lexical.called import ExactNames
from tools.store.backends.embedded.lexical.index import LexicalIndex
from tools.store.backends.embedded.meaning.vectors import Vectors
from tools.store.backends.embedded.searching.candidates import Legs, WholeCatalog
from tools.store.backends.embedded.searching.conditions import allowed_by
from tools.store.backends.embedded.searching.likeness import like_title
from tools.store.backends.embedded.searching.taste import ColumnTaste
from tools.store.models import Called, CatalogQuery, CatalogTerms, Conditions, Ordering, ReaderQuery
from tools.store.search.arrays import Floats, Mask
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.fusion import meant, order
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
        self._exact, self._taste = ExactNames(index, columns), ColumnTaste(columns)
        self.terms = CatalogTerms(
            tags=counts(columns.by_tag),
            magazines=counts(columns.by_magazine),
            readerships={genre: int(titles.sum()) for genre, titles in columns.by_genre.items()},
            titles=len(columns),
        )
        self._weights = weights or Weights()

    def search(self, asked: CatalogQuery, vector: Floats | None, vectors: Vectors | None) -> Hits:
        """The best titles for the query under its conditions; without its `vector` the vector leg is left out."""
        query, allowed = self._parser.parse(asked.text, asked.conditions.author), self._allowed(asked.conditions)
        query = replace(query, ordering=asked.ordering or query.ordering)
        if query.empty:
            return self._popular(allowed, asked, query.ordering)
        pointed = self._pointed_from(query)
        if pointed is not None and query.similar_to:
            alike = like_title(self._columns, pointed, allowed, vectors, self._weights)
            return self._hits(Ranked(alike, ordering=query.ordering), asked)
        senses = None if vector is None or vectors is None else vectors.cosines(vector)
        candidates = WholeCatalog(self._legs, senses, pointed)
        return self._hits(rank(query, candidates, self._weights, allowed), asked)

    def popular(self, conditions: Conditions, limit: int) -> Hits:
        """The best known titles under the conditions."""
        return self._popular(self._allowed(conditions), CatalogQuery("", conditions, limit), None)

    def for_reader(self, query: ReaderQuery) -> Hits:
        """Titles to a reader's taste, best first."""
        scores = self._taste.scores(query, self._allowed(query.conditions))
        return Hits(order(scores, query.limit).tolist(), int(np.count_nonzero(scores)))

    def nearest(self, vector: Floats, vectors: Vectors, limit: int) -> list[tuple[int, float]]:
        """Numbers of the titles that mean what the vector does the most, and how much."""
        likeness = meant(*vectors.cosines(vector), self._weights)
        return [(int(number), float(likeness[number])) for number in order(likeness, limit)]

    def called(self, names: Sequence[str]) -> dict[str, Called]:
        """What goes by exactly each of the names."""
        return self._exact.find(names)

    def _popular(self, allowed: Mask, asked: CatalogQuery, ordering: Ordering | None) -> Hits:
        """Those of equal popularity in the order of their rank."""
        numbers = self._in_order(allowed, ordering or Ordering.POPULARITY, asked)
        return Hits(asked.page_of(numbers), len(numbers), by_query=False)

    def _hits(self, ranked: Ranked, asked: CatalogQuery) -> Hits:
        if ranked.ordering is None:
            numbers = ranked.best(asked.offset + asked.limit)
        else:
            numbers = self._in_order(ranked.scores > 0, ranked.ordering, asked)
        return Hits(asked.page_of(numbers), ranked.answers, guessed=ranked.guessed, near=ranked.near)

    def _in_order(self, wanted: Mask, ordering: Ordering, asked: CatalogQuery) -> Sequence[int]:
        every = self._columns.in_order(ordering, asked.conditions.format, asked.conditions.day)
        numbers: list[int] = every[wanted[every]].tolist()
        return numbers

    def _allowed(self, conditions: Conditions) -> Mask:
        return allowed_by(conditions, self._columns, self._legs.people)

    def _pointed_from(self, query: ParsedQuery) -> int | None:
        """The number of the title that the query points from, whatever the conditions say of it."""
        if (name := query.points_from) is None:
            return None
        aliases = self._parser.parse(name).aliases
        return pointed_from(name, aliases, WholeCatalog(self._legs), self._weights)
