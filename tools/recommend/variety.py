"""Which of the best titles to show together: no two of one series, few by one author, and not all of one kind.

The choice is greedy, as maximal marginal relevance makes it (Carbonell and Goldstein, SIGIR 1998): each next title is the
one that is best for its place in the order and least like those that were chosen before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tools.store.models import Title
from tools.store.search.ranking.names import series_keys
from tools.store.search.titles.names import NameKeys

LIKENESS = 0.25
"""The most that likeness to a chosen title takes away of a title's worth."""
RANK_K = 10
MOST_BY_AUTHOR = 2
LOOKED_AT = 5
"""Titles to choose among, for each to show."""


def vary_titles(titles: Sequence[Title], count: int, beside: Sequence[Title] = (), *, ordered: bool = False) -> list[Title]:
    """`count` of the titles, or as many as there are, none of a series of those that they are shown `beside`; the first one
    stays first, and all stay `ordered` where somebody asked for an order. Blocking: names of full titles take a millisecond
    each to compare."""
    among = titles[: max(1, count) * LOOKED_AT]
    left, nearest = list(enumerate(among)), [0.0] * len(among)
    chosen: list[Title] = []
    series = SeriesSeen(beside)
    while left and len(chosen) < count:
        best = left[0] if ordered else max(left, key=lambda each: _value(each[0], nearest[each[0]]))
        left.remove(best)
        if not _too_many_by_author(best[1], chosen) and series.new(best[1]):
            chosen.append(best[1])
            for rank, title in left:
                nearest[rank] = max(nearest[rank], _likeness(title, best[1]))
    return chosen


class SeriesSeen:
    """Which series have been seen. Two titles are of one where a name of one begins with a name of the other, or where the
    catalogue says that they belong together."""

    def __init__(self, titles: Iterable[Title]) -> None:
        self._titles = [(title, *_keys(title)) for title in titles]

    def new(self, title: Title) -> bool:
        """True if the title is of no series seen before; its series counts as seen from then on."""
        names, begun = _keys(title)
        for other, their_names, their_begun in self._titles:
            if _are_related(title, other) or _one_begins(names, their_begun) or _one_begins(their_names, begun):
                return False
        self._titles.append((title, names, begun))
        return True


def _keys(title: Title) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The title's names, and those that are long enough for other names to begin with."""
    names = NameKeys.of(title).all
    return names, series_keys(names)


def _are_related(one: Title, other: Title) -> bool:
    return one.title_id == other.title_id or one.title_id in other.related or other.title_id in one.related


def _one_begins(names: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """True if any of the names begins with one of the others."""
    return any(name.startswith(others) for name in names)


def _too_many_by_author(title: Title, chosen: Sequence[Title]) -> bool:
    theirs = {author.name for author in title.authors}
    return sum(not theirs.isdisjoint(author.name for author in each.authors) for each in chosen) >= MOST_BY_AUTHOR


def _value(rank: int, nearest: float) -> float:
    """`nearest` is the greatest likeness to a chosen title."""
    return (1 - LIKENESS * nearest) / (RANK_K + rank)


def _likeness(one: Title, other: Title) -> float:
    """The share of their tags that both have (Jaccard)."""
    ours, theirs = set(one.tags), set(other.tags)
    return len(ours & theirs) / len(ours | theirs) if ours and theirs else 0.0
