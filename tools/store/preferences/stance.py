"""The stance of a statement, and the parts of an older one that still hold beside it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tools.store.models import Conditions
from tools.store.search.reading.reading import Freedom, Reading
from tools.store.search.text.characters import normalise

NOTHING = Conditions()
ONE_MATTER = frozenset(
    {
        *("genres", "author", "min_rating", "statuses", "volumes", "years", "audience", "magazines", "tags"),
        *("price", "series_price", "format"),
    }
)
"""Matters on which a later statement replaces an earlier one."""
YES_OR_NO = frozenset({"in_stock", "all_volumes", "no_adult"})


@dataclass(frozen=True, slots=True)
class Stance:
    """`welcome`: tags, and `welcome_genres` readerships, that are named and not ruled out; `adult`: what is sold to adults
    alone is asked for. `along`: of each phrase the tag that it names first, and those that may go with it ("horror", and its
    gore): whoever ruled out the first is no longer spared the others, and whoever ruled out one of the others still is.
    `freedoms`: what is said to be no requirement."""

    conditions: Conditions = NOTHING
    welcome: frozenset[str] = frozenset()
    welcome_genres: frozenset[str] = frozenset()
    adult: bool = False
    along: tuple[tuple[str, frozenset[str]], ...] = ()
    freedoms: tuple[Freedom, ...] = ()
    taken: frozenset[str] = field(init=False)
    """The names of the conditions whose place is taken."""

    def __post_init__(self) -> None:
        own = self.conditions
        taken = {*ONE_MATTER.intersection(own.stated), *(("audience", "no_adult") if self.adult else ())}
        object.__setattr__(self, "taken", frozenset(taken))
        object.__setattr__(self, "welcome", self.welcome.union(*own.tags))
        object.__setattr__(self, "welcome_genres", self.welcome_genres.union(own.genres))

    @property
    def stated(self) -> bool:
        return bool(self.conditions.stated or self.welcome or self.welcome_genres or self.freedoms)

    def leaves(self, older: Conditions) -> Conditions:
        """The parts of an earlier statement that still hold: all but those on the same matter."""
        tags = _less(older.without_tags, self._asked_for(older.without_tags))
        genres = _less(older.without_genres, self.welcome_genres)
        authors = tuple(name for name in older.without_authors if not _names(self.conditions.author, name))
        left = older
        if (tags, genres, authors) != (older.without_tags, older.without_genres, older.without_authors):
            left = replace(older, without_tags=tags, without_genres=genres, without_authors=authors)
        for freedom in self.freedoms:
            left = freedom.leaves(left)
        taken = [name for name in self.taken if getattr(left, name)]
        return left.but(*taken) if taken else left

    def _asked_for(self, unwanted: tuple[str, ...]) -> frozenset[str]:
        """The tags that are welcome where these are not wanted."""
        return self.welcome.union(*(others for first, others in self.along if first in unwanted))

    def adds_to(self, older: Conditions) -> Conditions:
        """The parts of an earlier statement that this one neither restates nor contradicts."""
        own, left = self.conditions, self.leaves(older)
        return replace(
            left.but(*YES_OR_NO.intersection(own.stated)),
            without_tags=_less(left.without_tags, own.without_tags),
            without_genres=_less(left.without_genres, own.without_genres),
            without_authors=_less(left.without_authors, own.without_authors),
            without_titles=_less(left.without_titles, own.without_titles),
        )


def stance_of(reading: Reading, *, firmly: bool = False) -> Stance:
    """The stance of a reading. Unrefused names are welcome; `firmly`: only if a word says so."""
    welcome = reading.endorsed if firmly else reading.welcome
    return Stance(
        reading.conditions,
        frozenset(each for each in welcome if each),
        frozenset() if firmly else reading.welcome_genres,
        reading.adult,
        tuple(each for each in reading.along if each[0] in welcome),
        reading.freedoms,
    )


def _less(held: tuple[str, ...], taken: frozenset[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each for each in held if each not in taken)


def _names(author: str | None, unwanted: str) -> bool:
    """True if the author asked for is the one ruled out, by all the words of either name."""
    if author is None:
        return False
    one, other = set(normalise(author).replace(",", " ").split()), set(normalise(unwanted).replace(",", " ").split())
    return bool(one) and (one <= other or other <= one)
