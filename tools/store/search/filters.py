"""The exact predicates of a search. A hit that misses one of them is a wrong answer, however well it reads."""

from __future__ import annotations

from collections.abc import Iterable

from tools.store.models import Filters, Title
from tools.store.search.people import AskedName, AuthorKeys, author_keys


class Predicates:
    """Filters, read once and held against many titles."""

    def __init__(self, filters: Filters) -> None:
        self._genre, self._least = filters.genre, filters.min_rating
        self._author = None if filters.author is None else AskedName(filters.author)

    def admit(self, genre: str | None, rating: float | None, authors: Iterable[AuthorKeys]) -> bool:
        """Whether a title of these meets every filter: genre equal, rating at least `min_rating`, one author that has the
        asked name."""
        return (
            (self._genre is None or genre == self._genre)
            and rated_at_least(rating, self._least)
            and (self._author is None or any(map(self._author.fits, authors)))
        )

    def satisfied_by(self, title: Title) -> bool:
        return self.admit(title.genre, title.rating, map(author_keys, title.authors))


def satisfies(title: Title, filters: Filters) -> bool:
    """Whether `title` meets every filter."""
    return Predicates(filters).satisfied_by(title)


def rated_at_least(rating: float | None, least: float | None) -> bool:
    """A title without a rating satisfies no minimum above zero: unknown is not good."""
    if least is None or least <= 0:
        return True
    return rating is not None and rating >= least
