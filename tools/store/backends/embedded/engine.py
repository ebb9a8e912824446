"""Searching a loaded catalogue. Blocking and pure; the catalogue runs it off the event loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from tools.store.backends.embedded.columns import TitleColumns, counts
from tools.store.backends.embedded.index import LexicalIndex
from tools.store.backends.embedded.names import ExactNames, IndexedNames
from tools.store.backends.embedded.people import PeopleLeg
from tools.store.backends.embedded.vectors import Vectors
from tools.store.models import (
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Conditions,
    NameMatches,
    Neighbour,
    Ordering,
    ReaderQuery,
    Title,
)
from tools.store.search.arrays import Floats, Mask
from tools.store.search.likeness import like_title, tag_shares
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.candidates import Candidates
from tools.store.search.ranking.fusion import meant, order
from tools.store.search.ranking.names import pointed_from
from tools.store.search.ranking.ranked import Ranked, rank
from tools.store.search.ranking.weights import Weights
from tools.store.search.taste import Rarity, Taste, TasteWeights, profile_of


class Engine:
    """Read only after construction; safe to share between threads."""

    def __init__(
        self, columns: TitleColumns, index: LexicalIndex, parser: QueryParser, weights: Weights | None = None
    ) -> None:
        self._columns, self._parser, self._weights = columns, parser, weights or Weights()
        self._people = PeopleLeg(index.people, columns)
        self._candidates = Candidates(columns, IndexedNames(index.names, len(columns)), self._people, index.prose)
        self._exact = ExactNames(index, columns)
        tags, magazines, readerships = (counts(columns.having[field]) for field in ("tags", "magazine", "genre"))
        self.terms = CatalogTerms(tags, magazines, readerships, titles=len(columns))
        self._rarity = Rarity(tags, len(columns), TasteWeights())
        self._taste = Taste(columns, self._rarity, TasteWeights())

    def search(
        self,
        asked: CatalogQuery,
        vector: Floats | None = None,
        vectors: Vectors | None = None,
        *,
        wants_meaning: bool = False,
    ) -> CatalogPage:
        """The best titles for the query under its conditions. Without its `vector` the vector leg is left out, and the page
        is degraded if meaning was wanted and the text asks for something."""
        query, allowed = self._parser.parse(asked.text, asked.conditions.author), self._allowed(asked.conditions)
        query = replace(query, ordering=asked.ordering or query.ordering)
        if query.empty:
            return self._best_known(allowed, asked, query.ordering)
        degraded = ("vector",) if wants_meaning and vector is None else ()
        pointed = self._pointed_from(query)
        if pointed is not None and query.similar_to:
            return self._page(Ranked(self._like(pointed, allowed, vectors), ordering=query.ordering), asked, degraded)
        senses = None if vector is None or vectors is None else vectors.cosines(vector)
        theirs = None if pointed is None else self._people.works_of_authors(pointed)
        candidates = replace(self._candidates, senses=senses, by_same_author=theirs)
        return self._page(rank(query, candidates, self._weights, allowed), asked, degraded)

    def popular(self, conditions: Conditions, limit: int) -> tuple[Title, ...]:
        """The best known titles under the conditions."""
        return self._best_known(self._allowed(conditions), CatalogQuery("", conditions, limit), None).titles

    def for_reader(self, query: ReaderQuery) -> tuple[Title, ...]:
        """Titles to a reader's taste, best first."""
        found = self._taste.worth(query, profile_of(query, self._rarity))
        fit = np.where(self._allowed(query.conditions), found, np.float32(0.0))
        return self._named(order(fit, query.limit).tolist())

    def nearest(self, vector: Floats, vectors: Vectors, limit: int) -> tuple[Neighbour, ...]:
        """The titles nearest to the vector in meaning."""
        near = meant(*vectors.cosines(vector), self._weights)
        rows = order(near, limit).tolist()
        return tuple(Neighbour(title, float(near[row])) for row, title in zip(rows, self._named(rows), strict=True))

    def match_names(self, names: Sequence[str]) -> dict[str, NameMatches]:
        """The titles and authors of exactly these names."""
        return self._exact.find(names)

    def _best_known(self, allowed: Mask, asked: CatalogQuery, ordering: Ordering | None) -> CatalogPage:
        """Titles of equal popularity in the order of their rank."""
        numbers = self._in_order(allowed, ordering or Ordering.POPULARITY, asked)
        return CatalogPage(self._named(asked.page_of(numbers)), len(numbers))

    def _page(self, ranked: Ranked, asked: CatalogQuery, degraded: tuple[str, ...]) -> CatalogPage:
        if ranked.ordering is None:
            numbers = ranked.best(asked.offset + asked.limit)
        else:
            numbers = self._in_order(ranked.scores > 0, ranked.ordering, asked)
        best = self._named(asked.page_of(numbers))
        return CatalogPage(best, ranked.answers, degraded, ranked.guessed, self._named(ranked.near))

    def _named(self, numbers: Iterable[int]) -> tuple[Title, ...]:
        return tuple(self._columns.titles[number] for number in numbers)

    def _in_order(self, wanted: Mask, ordering: Ordering, asked: CatalogQuery) -> Sequence[int]:
        every = self._columns.in_order(ordering, asked.conditions.format, asked.conditions.day)
        numbers: list[int] = every[wanted[every]].tolist()
        return numbers

    def _allowed(self, conditions: Conditions) -> Mask:
        """Shape (titles,): whether a title satisfies every condition."""
        allowed = self._columns.meeting(conditions)
        if conditions.author is not None:
            allowed &= self._people.written_by(conditions.author)
        if conditions.without_authors:
            allowed &= self._columns.known["author"]
        for name in conditions.without_authors:
            allowed &= ~self._people.written_by(name)
        return allowed

    def _like(self, number: int, allowed: Mask, vectors: Vectors | None) -> Floats:
        title = self._columns.titles[number]
        shares = tag_shares(title.tags, self.terms.tags, len(self._columns))
        meaning = None if vectors is None else np.maximum(*vectors.cosines(vectors.of(number)))
        return like_title(self._columns, shares, title.genre, title.title_id, meaning, self._weights, allowed)

    def _pointed_from(self, query: ParsedQuery) -> int | None:
        """The number of the title that the query points from, whatever the conditions say of it."""
        if (name := query.points_from) is None:
            return None
        aliases = self._parser.parse(name).aliases
        return pointed_from(name, aliases, self._candidates, self._weights)
