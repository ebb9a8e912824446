"""Whether a title is what a query asks for. A fact that is unknown satisfies nothing, an exclusion neither."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from tests.quality.conditions.facts import Facts, letters, parts
from tests.quality.conditions.wanted import Where

T = TypeVar("T")
Key = Callable[[Facts], float | None]
FRONT = (5, 20)
"""How many of those that fit stand in front of an ordering: a quarter, within these bounds."""


class Judge:
    """The conditions of one query, read once and held against many titles."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._tags, self._without_tags = tuple(map(frozenset, where.tags)), frozenset(where.without_tags)
        self._names, self._without_names = _all(letters, where.titles), _all(letters, where.without_titles)
        self._authors, self._without_authors = _all(parts, where.authors), _all(parts, where.without_authors)
        self._magazines = _all(parts, where.magazine)

    def satisfied_by(self, title: Facts) -> bool:
        """Whether everything is met but the ordering, which no title meets alone."""
        return (
            all(group & title.tags for group in self._tags)
            and self._shelf(title)
            and self._numbers(title)
            and self._people_and_names(title)
            and not self._unknown(title)
            and not self.excluded(title)
        )

    def excluded(self, title: Facts) -> bool:
        """Whether it is known that the title is what the query said it must not be."""
        return bool(
            self._without_tags & title.tags
            or title.genre in self._where.without_genres
            or self._without_authors & title.authors
            or self._without_names & title.names
        )

    def _unknown(self, title: Facts) -> bool:
        """Whether nobody knows if an exclusion is kept."""
        where = self._where
        return bool(
            (self._without_tags and not title.tags)
            or (where.without_genres and title.genre is None)
            or (self._without_authors and not title.authors)
        )

    def _shelf(self, title: Facts) -> bool:
        where = self._where
        return (
            (not where.genres or title.genre in where.genres)
            and (not where.status or title.status in where.status)
            and (not self._magazines or title.magazine in self._magazines)
            and (where.audience is None or where.audience in title.audiences)
        )

    def _numbers(self, title: Facts) -> bool:
        where = self._where
        return (
            _within(title.volumes, where.min_volumes, where.max_volumes)
            and _within(title.year, where.from_year, where.to_year)
            and _within(title.rating, where.min_rating, None)
        )

    def _people_and_names(self, title: Facts) -> bool:
        return (not self._authors or bool(self._authors & title.authors)) and (
            not self._names or bool(self._names & title.names)
        )


def fitting(titles: Iterable[Facts], where: Where) -> frozenset[str]:
    """The ids of all titles that are right answers: those that satisfy `where`, of an ordering those that stand in front."""
    judge = Judge(where)
    those = [title for title in titles if judge.satisfied_by(title)]
    if where.sort is None:
        return frozenset(title.title_id for title in those)
    return frozenset().union(*(_front(those, key) for key in _keys(where.sort, those)))


def _front(titles: Sequence[Facts], key: Key) -> frozenset[str]:
    """Those with the least keys, and those as good as the last of them. Unknown is in front of nothing."""
    known = sorted((value, title.title_id) for title in titles if (value := key(title)) is not None)
    least, most = FRONT
    depth = min(len(known), max(least, min(most, len(known) // 4)))
    return frozenset(title_id for value, title_id in known if depth and value <= known[depth - 1][0])


def _keys(sort: str, titles: Sequence[Facts]) -> tuple[Key, ...]:
    """A rating may be taken as it is or weighed by how many gave it: either is an honest "best rated"."""
    match sort:
        case "popularity":
            return (lambda title: title.rank,)
        case "newest":
            return (lambda title: None if title.year is None else -title.year,)
        case "shortest":
            return (lambda title: title.volumes,)
        case "rating":
            return (lambda title: None if title.rating is None else -title.rating, _weighed(titles))
    raise ValueError(f"there is no ordering {sort}")


def _weighed(titles: Sequence[Facts]) -> Key:
    """The Bayesian mean: each rating as if the median number of readers had given the mean rating besides."""
    rated = [(title.rating, title.rating_count) for title in titles if title.rating is not None]
    mean = sum(rating for rating, _ in rated) / max(1, len(rated))
    weight = sorted(count for _, count in rated)[len(rated) // 2] + 1 if rated else 1

    def key(title: Facts) -> float | None:
        if title.rating is None:
            return None
        return -(title.rating * title.rating_count + mean * weight) / (title.rating_count + weight)

    return key


def _within(value: float | None, least: float | None, most: float | None) -> bool:
    if least is None and most is None:
        return True
    return value is not None and (least is None or value >= least) and (most is None or value <= most)


def _all(fold: Callable[[str], T], names: Iterable[str]) -> frozenset[T]:
    return frozenset(map(fold, names))
