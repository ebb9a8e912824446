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
    """An author of a title. `name` is "Family, Given" in Latin letters; `role` is the catalogue's word, such as "Story"."""

    name: Text
    name_ja: Text | None = None
    name_kana: Text | None = None
    role: Text | None = None


@dataclass(frozen=True, slots=True)
class Title:
    """A title, one series of the catalogue, without price and stock, which change by the minute. Fields of None are unknown.
    `genre` is the readership, `kana` the reading of `ja`, `status` the catalogue's wording (`status_of`)."""

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
        """The name to show: the first of English, romaji, Japanese, kana, or the id."""
        return self.en or self.romaji or self.ja or self.kana or self.title_id


class Status(StrEnum):
    FINISHED = "finished"
    PUBLISHING = "publishing"
    HIATUS = "hiatus"
    DISCONTINUED = "discontinued"


class Audience(StrEnum):
    """The audiences for which a title may be suitable, youngest first (`tools.store.audience` has the rule)."""

    ALL_AGES = "all_ages"
    TEEN = "teen"
    OLDER_TEEN = "older_teen"
    ADULT = "adult"

    @property
    def step(self) -> int:
        return list(Audience).index(self)

    def fits(self, most: Audience) -> bool:
        """Returns True if titles for this audience suit readers of audience `most`."""
        return self.step <= most.step


@dataclass(frozen=True, slots=True)
class Range:
    """A range of numbers, bounds included; a bound of None is open."""

    least: float | None = None
    most: float | None = None

    def __bool__(self) -> bool:
        return self.least is not None or self.most is not None

    def __contains__(self, number: float | None) -> bool:
        """True if the number lies within the bounds. None, an unknown number, lies only in a range without bounds."""
        if number is None:
            return not self
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)

    @property
    def empty(self) -> bool:
        """True if no number lies within the bounds."""
        return self.least is not None and self.most is not None and self.least > self.most

    def narrowed(self, other: Range) -> Range:
        least = [bound for bound in (self.least, other.least) if bound is not None]
        most = [bound for bound in (self.most, other.most) if bound is not None]
        return Range(max(least, default=None), min(most, default=None))

    def joined(self, other: Range) -> Range:
        least = None if None in (self.least, other.least) else min(self.least or 0, other.least or 0)
        most = None if None in (self.most, other.most) else max(self.most or 0, other.most or 0)
        return Range(least, most)


ANY = Range()


@dataclass(frozen=True, slots=True)
class Conditions:
    """Filters of titles; a title has to pass all of them. An empty tuple, None, False and `ANY` filter nothing.

    `genres`, `statuses`, `magazines`: one of these. `author`: name parts in any order and script. `tags`: one tag of each
    group. `audience`: suitable for this audience. `years`: of the start. `price`: of one volume in `format`; if `format` is
    None, of one on paper, or else of a digital one. `series_price`: of all volumes. Both prices are in the currency's
    smallest unit. `in_stock`: can be bought now. `all_volumes`: every volume can be bought now; a catalogue treats it as
    `in_stock`, since only stock knows. `without_…`: exclusions; authors match as in `author`. `no_adult`: not known to be
    for adults only. `day` is no filter: the date in Japan (YYYY-MM-DD) whose prices apply; with None no campaign runs."""

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

    @property
    def for_children(self) -> bool:
        """True if children may be among the readers; "kodomo" titles then usually come first, if no ordering is given."""
        return self.audience is Audience.ALL_AGES

    def and_also(self, other: Conditions) -> Conditions:
        """Returns the combination of both: intersected ranges, the younger audience, the higher rating, all exclusions and
        tag groups. Alternatives (`genres`, `statuses`, `magazines`) are intersected, or united if they share none. For two
        authors or formats, that of `other` is taken."""
        return replace(self, **{name: _both(name, getattr(self, name), getattr(other, name)) for name in other.stated})

    def but(self, *names: str) -> Conditions:
        nothing = Conditions()
        return replace(self, **{name: getattr(nothing, name) for name in names})

    def only(self, *names: str) -> Conditions:
        return self.but(*(name for name in self.stated if name not in names))


_NAMES = tuple(each.name for each in fields(Conditions) if each.name != "day")
_VALUES = attrgetter(*_NAMES)


def _both(name: str, own: Any, other: Any) -> Any:
    if name in ("genres", "statuses", "magazines") and (shared := tuple(each for each in own if each in other)):
        return shared
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
    POPULARITY = "popularity"
    RATING = "rating"
    NEWEST = "newest"
    SHORTEST = "shortest"
    PRICE = "price"


@dataclass(frozen=True, slots=True)
class CatalogQuery:
    """A catalogue search. `offset` is the number of best hits to skip. Hits are sorted by `ordering`, which overrides an
    ordering that the text names; if `ordering` is None, by the text's ordering or else by score."""

    text: str
    conditions: Conditions
    limit: int
    offset: int = 0
    ordering: Ordering | None = None

    def page_of(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Returns this query's page of `hits`, which are all hits or at least the first `offset + limit`."""
        return hits[self.offset : self.offset + self.limit]


@dataclass(frozen=True, slots=True)
class CatalogPage:
    """A page of hits, best first. `total` is the number of all hits. `degraded` names the parts of the search that failed
    ("vector"). `guessed` is True if the best hit matches only because its name resembles the query. If nothing matches,
    `near` has the titles with the most similar names."""

    titles: tuple[Title, ...]
    total: int
    degraded: tuple[str, ...] = ()
    guessed: bool = False
    near: tuple[Title, ...] = ()


@dataclass(frozen=True, slots=True)
class WeighedTitle:
    """A title and its weight as evidence of a reader's taste; a purchase weighs 1."""

    title: Title
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class ReaderQuery:
    """A query for titles to recommend to a reader. The titles have to satisfy `conditions`.

    `liked` and `disliked` are titles as evidence of taste; `themes` are tags with weights as further evidence. `wanted` are
    groups of requested tags: a title needs a tag of at least one group, and ranks higher for each further group. `mood` are
    tags of which a title needs at least one, and ranks higher for each further one. `unwanted` tags rank a title lower.
    `fits` has scores from 0 to 1 by title id; if given, only these titles are ranked. `known` are ids of titles to leave
    out."""

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
    """The number of titles by tag, by magazine and by readership; `titles` is the number in all, 0 if unknown."""

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
    """The exact matches of a name: the ids of titles with this name, most popular first, and the number of titles by authors
    with this name."""

    title_ids: tuple[str, ...] = ()
    works_by_author: int = 0
