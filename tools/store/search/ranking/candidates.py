"""Defines `Candidates`: the titles that a backend found for a query, in the form that ranking needs. The same rules
(`ranking.ranked`) rank the titles of a backend that scores every title and of one that finds a few hundred."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Protocol

import numpy as np

from tools.store.models import Ordering, Title
from tools.store.search.columns import Columns, Floats, Mask, Rows
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.titles.names import NameTable, prior

UNKNOWN = -math.inf


def standing(title: Title, ordering: Ordering, price: int | None = None) -> float:
    """Returns the value to sort a title by, higher first; `UNKNOWN` if the title lacks it. `price` is that of one volume."""
    if ordering is Ordering.RATING:
        return weighted_rating(title)
    if ordering is Ordering.NEWEST:
        return UNKNOWN if title.start_year is None else float(title.start_year)
    if ordering is Ordering.SHORTEST:
        return -float(title.volumes) if title.volumes else UNKNOWN
    if ordering is Ordering.PRICE:
        return UNKNOWN if price is None else -float(price)
    return -float(title.popularity_rank) if title.popularity_rank else UNKNOWN


def rows_in_order(titles: Sequence[Title], ordering: Ordering, prices: Sequence[int | None] | None = None) -> Rows:
    """Returns the titles' rows sorted by `standing`; ties by popularity rank, then fame, then input order. `prices`: one for
    each title, for the ordering by price."""
    stand = np.array(
        [standing(title, ordering, price) for title, price in zip(titles, prices or repeat(None), strict=False)], np.float64
    )
    fame = np.array([prior(title) for title in titles], np.float32)
    rank = np.array([title.popularity_rank or 10**9 for title in titles], np.int64)
    return np.asarray(np.lexsort((-fame, rank, -stand)), np.intp)


def in_order(titles: Sequence[Title], ordering: Ordering, prices: Sequence[int | None] | None = None) -> tuple[Title, ...]:
    return tuple(titles[row] for row in rows_in_order(titles, ordering, prices))


def weighted_rating(title: Title) -> float:
    """Returns the Bayesian average of a title's rating: the mean of its ratings and of 500 more of 3.5, as in the charts
    of the Internet Movie Database. An unknown number of ratings is taken as 500. Returns `UNKNOWN` for a title without a
    rating."""
    if title.rating is None:
        return UNKNOWN
    count = 500 if title.rating_count is None else title.rating_count
    return (count * title.rating + 500 * 3.5) / (count + 500)


class People(Protocol):
    def measure_authorship(self, query: ParsedQuery) -> Floats:
        """Returns the confidence (0 to 1) that the query names an author of each title (`ranking.names.AskedAuthor`)."""
        ...

    def written_by(self, name: str) -> Mask:
        """Returns a mask of the titles by an author with this name (`titles.document.is_author`)."""
        ...


class Words(Protocol):
    def measure_coverage(self, asked: Sequence[Sequence[str]]) -> Floats:
        """Returns the BM25 score of each title's text divided by the IDF mass of `asked`; may exceed 1. `asked` has a group
        of alternative terms (translations) for each word. Any term of a group matches, and the document frequency of the
        terms together counts (Pirkola 1998)."""
        ...

    def in_vocabulary(self, terms: Sequence[str]) -> float:
        """Returns the share of the terms' IDF mass in terms that any title has."""
        ...


@dataclass(frozen=True, slots=True)
class Candidates:
    """The titles found for a query, as arrays with one row per title. `senses`: cosines of the query with each title's best
    passage and with its headline, -1 to 1; None without vectors. `by_same_author`: works by the authors of the title that
    the query refers to; None if it refers to none. Ties in the ranking keep the order of rows. Read-only, so thread-safe."""

    columns: Columns
    names: NameTable
    people: People
    words: Words
    senses: tuple[Floats, Floats] | None = None
    by_same_author: Mask | None = None

    @property
    def prior(self) -> Floats:
        return self.columns.prior

    def mask_tagged(self, tags: Sequence[str]) -> Mask:
        return self.columns.any_of("tags", tags)
