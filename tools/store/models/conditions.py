"""What titles have to satisfy exactly, whatever they are about.

An unknown fact satisfies no condition: a title without a year is not "from the eighties", and one without tags is not
"without gore". Nobody who states a condition is served by a guess.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """Whether a series goes on."""

    FINISHED = "finished"
    PUBLISHING = "publishing"
    HIATUS = "hiatus"
    DISCONTINUED = "discontinued"


class Audience(StrEnum):
    """For whom a title is fit, the youngest first (`tools.store.audience` has the rule)."""

    ALL_AGES = "all_ages"
    TEEN = "teen"
    OLDER_TEEN = "older_teen"
    ADULT = "adult"

    @property
    def step(self) -> int:
        """0 for the youngest."""
        return list(Audience).index(self)

    def fits(self, most: Audience) -> bool:
        """Whether what is for this audience may be given to `most`."""
        return self.step <= most.step


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `least` to `most`, both included; None is no bound."""

    least: float | None = None
    most: float | None = None

    def __bool__(self) -> bool:
        """Whether it bounds anything."""
        return self.least is not None or self.most is not None

    def __contains__(self, number: float | None) -> bool:
        """Whether a number that may be unknown lies within; an unknown one only where nothing is bounded."""
        if number is None:
            return not self
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)

    @property
    def empty(self) -> bool:
        """Whether nothing lies between its bounds."""
        return self.least is not None and self.most is not None and self.least > self.most

    def narrowed(self, other: Range) -> Range:
        """What lies in both."""
        least = [bound for bound in (self.least, other.least) if bound is not None]
        most = [bound for bound in (self.most, other.most) if bound is not None]
        return Range(max(least, default=None), min(most, default=None))


ANY = Range()


@dataclass(frozen=True, slots=True)
class Conditions:
    """All of them have to be met. An empty tuple, None, False and `ANY` ask for nothing.

    `genres`: one of these readerships. `author`: matched in any order and script of the name's parts. `magazines`: one of
    these, spelled as the catalogue does. `tags`: one of each group. `volumes`, `years` (the first one), `price` (yen, of one
    volume in `format`, on paper where none is asked for) and `series_price` (yen, of all volumes) are ranges. `audience`:
    fit for these. `in_stock`: can be bought now; `all_volumes`: every volume can. `without_…`: none of these tags,
    readerships, authors (matched as `author`), magazines and titles (by id). `no_adult`: not known to be for adults alone.

    `day` is none itself: the day in Japan (YYYY-MM-DD) of whose prices the others speak; on None no campaign runs.
    """

    genres: tuple[str, ...] = ()
    author: str | None = None
    min_rating: float | None = None
    statuses: tuple[Status, ...] = ()
    volumes: Range = ANY
    years: Range = ANY
    audience: Audience | None = None
    tags: tuple[tuple[str, ...], ...] = ()
    magazines: tuple[str, ...] = ()
    price: Range = ANY
    series_price: Range = ANY
    format: str | None = None
    in_stock: bool = False
    all_volumes: bool = False
    without_tags: tuple[str, ...] = ()
    without_genres: tuple[str, ...] = ()
    without_authors: tuple[str, ...] = ()
    without_magazines: tuple[str, ...] = ()
    without_titles: tuple[str, ...] = ()
    no_adult: bool = False
    day: str | None = None

    @property
    def stated(self) -> tuple[str, ...]:
        """The names of the conditions that ask for something, in the order of the fields."""
        return tuple([name for name in _NAMES if getattr(self, name)])

    def and_also(self, other: Conditions) -> Conditions:
        """Both: ranges narrowed, the younger audience, what must be none joined; what may be one of several is one that both
        admit ("not finished", "not on hiatus"), or of either where they share none ("finished", "still running"); of two
        authors or formats the other's."""
        return replace(self, **{name: _both(name, getattr(self, name), getattr(other, name)) for name in other.stated})

    def but(self, *names: str) -> Conditions:
        """Without the conditions of these names."""
        nothing = Conditions()
        return replace(self, **{name: getattr(nothing, name) for name in names})


_NAMES = tuple(each.name for each in fields(Conditions) if each.name != "day")
_ONE_OF = frozenset({"genres", "statuses", "magazines"})


def _both(name: str, own: Any, other: Any) -> Any:
    if name in _ONE_OF and (shared := tuple(each for each in own if each in other)):
        return shared
    return _joined(own, other)


def _joined(own: Any, other: Any) -> Any:
    if isinstance(own, Range):
        return own.narrowed(other)
    if isinstance(own, Audience):
        return min(own, other, key=lambda audience: audience.step)
    if isinstance(own, tuple):
        return tuple(dict.fromkeys((*own, *other)))
    if isinstance(own, float | int) and not isinstance(own, bool):
        return max(own, other)
    return other
