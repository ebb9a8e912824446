"""What a title is ranked by: a backend may keep it, since making the keys is the costly part."""

from __future__ import annotations

from dataclasses import dataclass

from tools.store.models import Title
from tools.store.search.titles.names import NameKeys
from tools.store.search.titles.people import AuthorKeys
from tools.store.search.titles.prior import prior


@dataclass(frozen=True, slots=True)
class TitleKeys:
    """`prior`: how well known the title is, 0 to 1."""

    names: NameKeys
    authors: tuple[AuthorKeys, ...]
    tags: frozenset[str]
    genre: str | None
    prior: float

    @classmethod
    def of(cls, title: Title) -> TitleKeys:
        """Takes about half a millisecond."""
        authors = tuple(map(AuthorKeys.of, title.authors))
        return cls(NameKeys.of(title), authors, frozenset(title.tags), title.genre, prior(title))
