"""The exact predicates of a search. A hit that misses one of them is a wrong answer, however well it reads."""

from __future__ import annotations

from tools.models import Filters, Title
from tools.search.people import is_author


def satisfies(title: Title, filters: Filters) -> bool:
    """Whether `title` meets every filter: genre equal, rating at least `min_rating`, one author that has the asked name."""
    return (
        (filters.genre is None or title.genre == filters.genre)
        and rated_at_least(title, filters.min_rating)
        and (filters.author is None or any(is_author(filters.author, author) for author in title.authors))
    )


def rated_at_least(title: Title, min_rating: float | None) -> bool:
    """A title without a rating satisfies no minimum above zero: unknown is not good."""
    if min_rating is None or min_rating <= 0:
        return True
    return title.rating is not None and title.rating >= min_rating
