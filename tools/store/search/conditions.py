"""The conditions of a search: what a title has to satisfy exactly, whatever it is about. A hit that misses one of them is a
wrong answer, however well it reads.

This is their one definition. A new condition is a field of `tools.store.models.Filters`, the fact that it is about in
`Facts`, and a line in `Conditions.admit`; each backend asks for it in its own terms besides, over columns
(embedded/searching/conditions.py) and as queries (opensearch/queries/conditions.py). Tests hold both against `satisfies`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tools.store.models import Filters, Title
from tools.store.search.titles.people import AskedName, AuthorKeys


@dataclass(frozen=True, slots=True)
class Facts:
    """What conditions are about: all that is kept of a title to hold it against them."""

    genre: str | None
    rating: float | None
    authors: tuple[AuthorKeys, ...]

    @classmethod
    def of(cls, title: Title) -> Facts:
        return cls(title.genre, title.rating, tuple(map(AuthorKeys.of, title.authors)))


class Conditions:
    """Filters, read once and held against many titles."""

    def __init__(self, filters: Filters) -> None:
        self._genre, self._least = filters.genre, filters.min_rating
        self._author = None if filters.author is None else AskedName(filters.author)

    def admit(self, facts: Facts) -> bool:
        """Whether all are met: genre equal, rating at least `min_rating`, one author that has the asked name."""
        return (
            (self._genre is None or facts.genre == self._genre)
            and rated_at_least(facts.rating, self._least)
            and (self._author is None or any(map(self._author.fits, facts.authors)))
        )

    def satisfied_by(self, title: Title) -> bool:
        """Without keys of authors where nobody asks for one: to make them is the costly part."""
        authors = () if self._author is None else tuple(map(AuthorKeys.of, title.authors))
        return self.admit(Facts(title.genre, title.rating, authors))


def satisfies(title: Title, filters: Filters) -> bool:
    """Whether `title` meets every filter."""
    return Conditions(filters).satisfied_by(title)


def rated_at_least(rating: float | None, least: float | None) -> bool:
    """A title without a rating satisfies no minimum above zero: unknown is not good."""
    if least is None or least <= 0:
        return True
    return rating is not None and rating >= least
