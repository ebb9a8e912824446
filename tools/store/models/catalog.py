"""What a catalogue is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from tools.store.models.conditions import Conditions
from tools.store.models.title import Title

Hit = TypeVar("Hit")


class Ordering(StrEnum):
    """What matches are put in order by, where not by how well they match."""

    POPULARITY = "popularity"
    RATING = "rating"
    NEWEST = "newest"
    SHORTEST = "shortest"
    PRICE = "price"


@dataclass(frozen=True, slots=True)
class CatalogQuery:
    """`offset`: how many of the best hits to pass over. `ordering`: what hits are put in order by where not by how well they
    match; one that the text names yields to it."""

    text: str
    conditions: Conditions
    limit: int
    offset: int = 0
    ordering: Ordering | None = None

    def page_of(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """What of all hits, or of the first `offset + limit`, is asked for."""
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
class Facets:
    """What a reader likes: weights by tag, and authors by `Author.name`."""

    tags: Mapping[str, float]
    authors: tuple[str, ...] = ()
    genre: str | None = None


@dataclass(frozen=True, slots=True)
class Weighed:
    """A title and how much it tells of a reader's taste: 1 for what was bought."""

    title: Title
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class ReaderQuery:
    """What titles are wanted for a reader, under the conditions.

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
class Called:
    """What goes by a name: ids of titles that are called exactly so, the best known first, and how many titles an author of
    exactly this name has made."""

    title_ids: tuple[str, ...] = ()
    by_author: int = 0
