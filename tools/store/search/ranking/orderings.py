"""The orders that titles are put in where not by how well they match: by fame, by rating, by year."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat

import numpy as np

from tools.store.models import Ordering, Title
from tools.store.search.columns import Rows
from tools.store.search.titles.names import prior

TRUSTED_RATINGS, USUAL_RATING = 500, 3.5
"""A rating by few is drawn towards the usual one: (n × own + m × usual) / (n + m), as the Internet Movie Database weighs its
charts, with m = 500."""
UNKNOWN = -math.inf
UNRANKED = 10**9


def standing(title: Title, ordering: Ordering, price: int | None = None) -> float:
    """The value that orders a title, higher first; `UNKNOWN` where nothing is known. `price`: yen of one volume."""
    if ordering is Ordering.RATING:
        return weighted_rating(title)
    if ordering is Ordering.NEWEST:
        return UNKNOWN if title.start_year is None else float(title.start_year)
    if ordering is Ordering.SHORTEST:
        return -float(title.volumes) if title.volumes else UNKNOWN
    if ordering is Ordering.PRICE:
        return UNKNOWN if price is None else -float(price)
    return prior(title)


def rows_in_order(titles: Sequence[Title], ordering: Ordering, prices: Sequence[int | None] | None = None) -> Rows:
    """The rows of the titles by `standing`; equal ones by fame, then by rank, then as they come."""
    stand = np.array(
        [standing(title, ordering, price) for title, price in zip(titles, prices or repeat(None), strict=False)], np.float64
    )
    fame = np.array([prior(title) for title in titles], np.float32)
    rank = np.array([title.popularity_rank or UNRANKED for title in titles], np.int64)
    return np.asarray(np.lexsort((rank, -fame, -stand)), np.intp)


def in_order(titles: Sequence[Title], ordering: Ordering, prices: Sequence[int | None] | None = None) -> tuple[Title, ...]:
    """Sorts the titles by the ordering."""
    return tuple(titles[row] for row in rows_in_order(titles, ordering, prices))


def weighted_rating(title: Title) -> float:
    """A rating that nobody counted weighs as much as the usual one."""
    if title.rating is None:
        return UNKNOWN
    count = TRUSTED_RATINGS if title.rating_count is None else title.rating_count
    return (count * title.rating + TRUSTED_RATINGS * USUAL_RATING) / (count + TRUSTED_RATINGS)
