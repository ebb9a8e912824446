"""Questions to a catalogue and its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from itertools import compress
from operator import attrgetter
from typing import Annotated, Any, TypeVar

from pydantic import Field

from tools.store.models.values import (
    LONGEST_LIST,
    MOST_RELATED,
    ByStars,
    Count,
    ForWhom,
    LanguageTag,
    Prose,
    Rank,
    Rating,
    Readership,
    Text,
    Texts,
    TitleId,
    WebAddress,
    Year,
)


@dataclass(frozen=True, slots=True)
class Author:
    """An author of a title. `name` is "Family, Given" in Latin letters."""

    name: Text
    name_ja: Text | None = None
    name_kana: Text | None = None
    role: Text | None = None


@dataclass(frozen=True, slots=True)
class Title:
    """A title in the catalogue: text and facts, no price and no stock (those change by the minute)."""

    title_id: TitleId
    en: Text | None = None
    romaji: Text | None = None
    ja: Text | None = None
    kana: Text | None = None
    alt_titles: Texts = ()
    authors: Annotated[tuple[Author, ...], Field(max_length=LONGEST_LIST)] = ()
    genre: Readership | None = None
    tags: Texts = ()
    synopsis_en: Prose | None = None
    synopsis_ja: Prose | None = None
    rating: Rating | None = None
    rating_count: Count | None = None
    rating_counts: ByStars | None = None
    popularity_rank: Rank | None = None
    volumes: Count | None = None
    chapters: Count | None = None
    status: Text | None = None
    start_year: Year | None = None
    end_year: Year | None = None
    magazine: Text | None = None
    publisher: Text | None = None
    edition_language: LanguageTag | None = None
    cover_url: WebAddress | None = None
    product_url: WebAddress | None = None
    audience: ForWhom | None = None
    related: Annotated[tuple[TitleId, ...], Field(max_length=MOST_RELATED)] = ()

    @property
    def display(self) -> str:
        """The name to show: English where there is one, else romaji, Japanese, kana."""
        return self.en or self.romaji or self.ja or self.kana or self.title_id


class Status(StrEnum):
    """Whether a series goes on, and how it ended."""

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
        """True if titles for this audience may be given to `most`."""
        return self.step <= most.step


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `least` to `most`, both included; None is no bound."""

    least: float | None = None
    most: float | None = None

    def __bool__(self) -> bool:
        """True if it bounds anything."""
        return self.least is not None or self.most is not None

    def __contains__(self, number: float | None) -> bool:
        """True if a number that may be unknown lies within; an unknown one only where nothing is bounded."""
        if number is None:
            return not self
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)

    @property
    def empty(self) -> bool:
        """True if nothing lies between its bounds."""
        return self.least is not None and self.most is not None and self.least > self.most

    def narrowed(self, other: Range) -> Range:
        """The numbers in both ranges."""
        least = [bound for bound in (self.least, other.least) if bound is not None]
        most = [bound for bound in (self.most, other.most) if bound is not None]
        return Range(max(least, default=None), min(most, default=None))

    def joined(self, other: Range) -> Range:
        """The numbers from the least to the most of both ranges."""
        least = None if None in (self.least, other.least) else min(self.least or 0, other.least or 0)
        most = None if None in (self.most, other.most) else max(self.most or 0, other.most or 0)
        return Range(least, most)


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
        return tuple(compress(_NAMES, _VALUES(self)))

    def and_also(self, other: Conditions) -> Conditions:
        """Joins both conditions: narrows ranges, takes the younger audience, joins exclusions. Of alternatives it keeps
        those that both admit ("not finished", "not on hiatus"), or all where they share none ("finished", "still running");
        of two authors or formats the other's."""
        return replace(self, **{name: _both(name, getattr(self, name), getattr(other, name)) for name in other.stated})

    def but(self, *names: str) -> Conditions:
        """A copy without the conditions of these names."""
        nothing = Conditions()
        return replace(self, **{name: getattr(nothing, name) for name in names})


_NAMES = tuple(each.name for each in fields(Conditions) if each.name != "day")
_VALUES = attrgetter(*_NAMES)
_ONE_OF = frozenset({"genres", "statuses", "magazines"})


def _both(name: str, own: Any, other: Any) -> Any:
    if name in _ONE_OF and (shared := tuple(each for each in own if each in other)):
        return shared
    return _join_values(own, other)


def _join_values(own: Any, other: Any) -> Any:
    if isinstance(own, Range):
        return own.narrowed(other)
    if isinstance(own, Audience):
        return min(own, other, key=lambda audience: audience.step)
    if isinstance(own, tuple):
        return tuple(dict.fromkeys((*own, *other)))
    if isinstance(own, float | int) and not isinstance(own, bool):
        return max(own, other)
    return other


Hit = TypeVar("Hit")


class Ordering(StrEnum):
    """An order of matches other than by how well they match."""

    POPULARITY = "popularity"
    RATING = "rating"
    NEWEST = "newest"
    SHORTEST = "shortest"
    PRICE = "price"


@dataclass(frozen=True, slots=True)
class CatalogQuery:
    """A search. `offset`: how many of the best hits to skip. `ordering`: sorts hits instead of their score; an ordering that
    the text names goes before it."""

    text: str
    conditions: Conditions
    limit: int
    offset: int = 0
    ordering: Ordering | None = None

    def page_of(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """The page of all hits, or of the first `offset + limit`."""
        return hits[self.offset : self.offset + self.limit]


@dataclass(frozen=True, slots=True)
class CatalogPage:
    """Hits, best first. `total` counts all that match; `degraded` names a leg that was late or down ("vector").

    `guessed`: the best hit is there only for a name that is somewhat like the query. `near`: where nothing matches, titles
    whose names come nearest.
    """

    titles: tuple[Title, ...]
    total: int
    degraded: tuple[str, ...] = ()
    guessed: bool = False
    near: tuple[Title, ...] = ()


@dataclass(frozen=True, slots=True)
class Weighed:
    """A title and its weight in a reader's taste: 1 for a purchase."""

    title: Title
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class ReaderQuery:
    """A query for titles to a reader's taste, under the conditions.

    `liked`, `disliked`: titles that tell of their taste; `themes`: tags that do besides, by weight. `wanted`: groups of tags
    that were asked for: one of each; a title with none of them is no answer, one with more is a better one. `mood`: tags of
    which the more a title is, the better; one with none of them is no answer. `unwanted`: tags of the wrong tone. `fits`:
    where a search has found titles, only these are put in order, by how well they fit (0 to 1) among the rest. `known`: ids
    of titles to leave out.
    """

    limit: int
    conditions: Conditions = Conditions()
    liked: tuple[Weighed, ...] = ()
    disliked: tuple[Title, ...] = ()
    themes: Mapping[str, float] = field(default_factory=dict)
    wanted: tuple[tuple[str, ...], ...] = ()
    mood: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    fits: Mapping[str, float] | None = None
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogTerms:
    """The catalogue's own words: its tags with the number of titles that carry each, and its magazines and readerships
    likewise. `titles`: how many there are in all."""

    tags: Mapping[str, int]
    magazines: Mapping[str, int]
    readerships: Mapping[str, int] = field(default_factory=dict)
    titles: int = 0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A title and how near it comes to a text in meaning: 0 for nothing in common, 1 for the same words."""

    title: Title
    likeness: float


@dataclass(frozen=True, slots=True)
class NameMatches:
    """The matches of a name: ids of titles that are called exactly so, the best known first, and the number of titles by
    authors of exactly this name."""

    title_ids: tuple[str, ...] = ()
    by_author: int = 0
