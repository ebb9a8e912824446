"""What a catalogue is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tools.store.models.title import Title


@dataclass(frozen=True, slots=True)
class Filters:
    """What a title must satisfy, exactly. `author` is matched in any order and script of the name's parts."""

    genre: str | None = None
    author: str | None = None
    min_rating: float | None = None


class Ordering(StrEnum):
    """What matches are put in order by, where not by how well they match."""

    POPULARITY = "popularity"
    RATING = "rating"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class CatalogQuery:
    text: str
    filters: Filters
    limit: int


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
class Facets:
    """What a reader likes: weights by tag, and authors by `Author.name`."""

    tags: Mapping[str, float]
    authors: tuple[str, ...] = ()
    genre: str | None = None
