"""Queries to a catalogue and its answers."""

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
        """The name to show: English, else romaji, Japanese, kana, or the id."""
        return self.en or self.romaji or self.ja or self.kana or self.title_id


class Status(StrEnum):
    """The publication status of a series."""

    FINISHED = "finished"
    PUBLISHING = "publishing"
    HIATUS = "hiatus"
    DISCONTINUED = "discontinued"


class Audience(StrEnum):
    """The audiences that a title may be fit for, youngest first (`tools.store.audience` has the rule)."""

    ALL_AGES = "all_ages"
    TEEN = "teen"
    OLDER_TEEN = "older_teen"
    ADULT = "adult"

    @property
    def step(self) -> int:
        """The position among the audiences, 0 for the youngest."""
        return list(Audience).index(self)

    def fits(self, most: Audience) -> bool:
        """True if titles for this audience suit readers of audience `most`."""
        return self.step <= most.step


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `least` to `most`, both included; None is no bound."""

    least: float | None = None
    most: float | None = None

    def __bool__(self) -> bool:
        """True if it has a bound."""
        return self.least is not None or self.most is not None

    def __contains__(self, number: float | None) -> bool:
        """True if the number lies within the bounds; None, an unknown number, only if there is no bound."""
        if number is None:
            return not self
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)

    @property
    def empty(self) -> bool:
        """True if no number lies between the bounds."""
        return self.least is not None and self.most is not None and self.least > self.most

    def narrowed(self, other: Range) -> Range:
        """Returns the intersection of both ranges."""
        least = [bound for bound in (self.least, other.least) if bound is not None]
        most = [bound for bound in (self.most, other.most) if bound is not None]
        return Range(max(least, default=None), min(most, default=None))

    def joined(self, other: Range) -> Range:
        """Returns the smallest range that covers both."""
        least = None if None in (self.least, other.least) else min(self.least or 0, other.least or 0)
        most = None if None in (self.most, other.most) else max(self.most or 0, other.most or 0)
        return Range(least, most)


ANY = Range()


@dataclass(frozen=True, slots=True)
class Conditions:
    """Filters of titles; a title has to pass them all. An empty tuple, None, False and `ANY` filter nothing.

    `genres`: any of these readerships. `author`: name parts in any order and script. `magazines`: any of these, as the
    catalogue spells them. `tags`: one tag of each group. `audience`: fit for this one. Ranges: `volumes`, `years` (the start
    year), `price` (one volume in `format`; without a format on paper, else digital) and `series_price` (all volumes), both
    in the smallest unit of the currency. `in_stock`: can be bought now. `all_volumes`: every volume can, which only stock
    tells; a catalogue filters as for `in_stock`. `without_…`: no title with these tags, readerships, authors (matched as
    `author`), magazines or ids. `no_adult`: no title known to be for adults only. `day` is no filter: the date in Japan
    (YYYY-MM-DD) whose prices apply; with None no campaign runs.
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
        """Names of the filters that are set, in the order of the fields."""
        return tuple(compress(_NAMES, _VALUES(self)))

    def and_also(self, other: Conditions) -> Conditions:
        """Merges both: intersects ranges, takes the younger audience and higher rating, unites exclusions. Alternatives of
        one value ("not finished", "not on hiatus") are intersected, or united if they share none ("finished", "still
        running"); of two authors or formats `other`'s is taken."""
        return replace(self, **{name: _both(name, getattr(self, name), getattr(other, name)) for name in other.stated})

    def but(self, *names: str) -> Conditions:
        """Returns a copy without the conditions of these names."""
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
    """A sort order of hits, other than by score."""

    POPULARITY = "popularity"
    RATING = "rating"
    NEWEST = "newest"
    SHORTEST = "shortest"
    PRICE = "price"


@dataclass(frozen=True, slots=True)
class CatalogQuery:
    """A search. `offset`: how many of the best hits to skip. `ordering`: sorts the hits instead of their score, and
    overrides an ordering that the text names."""

    text: str
    conditions: Conditions
    limit: int
    offset: int = 0
    ordering: Ordering | None = None

    def page_of(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Returns this query's page of `hits`, which are all hits or the first `offset + limit`."""
        return hits[self.offset : self.offset + self.limit]


@dataclass(frozen=True, slots=True)
class CatalogPage:
    """A page of hits, best first. `total`: number of all hits. `degraded`: parts of the search that were late or down
    ("vector").

    `guessed`: the best hit matches only because its name resembles the query. `near`: if nothing matches, the titles with
    the most similar names."""

    titles: tuple[Title, ...]
    total: int
    degraded: tuple[str, ...] = ()
    guessed: bool = False
    near: tuple[Title, ...] = ()


@dataclass(frozen=True, slots=True)
class WeighedTitle:
    """A title and its weight as evidence of a reader's taste: 1 for a purchase."""

    title: Title
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class ReaderQuery:
    """A query for recommendations to a reader, under the conditions.

    `liked`, `disliked`: titles as evidence of taste; `themes`: tags as further evidence, with their weights. `wanted`:
    groups of requested tags, of which one tag counts; titles without any are left out, those with more groups rank higher.
    `mood`: tags that rank a title higher the more it has; titles without any are left out. `unwanted`: tags that rank it
    lower. `fits`: the hits of a search with their scores (0 to 1); if given, only these are ranked. `known`: ids of titles
    to leave out.
    """

    limit: int
    conditions: Conditions = Conditions()
    liked: tuple[WeighedTitle, ...] = ()
    disliked: tuple[Title, ...] = ()
    themes: Mapping[str, float] = field(default_factory=dict)
    wanted: tuple[tuple[str, ...], ...] = ()
    mood: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    fits: Mapping[str, float] | None = None
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogTerms:
    """The catalogue's terms: number of titles by tag, by magazine and by readership. `titles`: number of all titles."""

    tags: Mapping[str, int]
    magazines: Mapping[str, int]
    readerships: Mapping[str, int] = field(default_factory=dict)
    titles: int = 0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A title and its similarity in meaning to a text: 0 for nothing in common, 1 for the same words."""

    title: Title
    likeness: float


@dataclass(frozen=True, slots=True)
class NameMatches:
    """The matches of a name: ids of the titles with exactly this name, most popular first, and the number of titles by
    authors with exactly this name."""

    title_ids: tuple[str, ...] = ()
    works_by_author: int = 0
