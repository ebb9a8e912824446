"""A title and its authors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tools.store.models.values import (
    LONGEST_LIST,
    MOST_RELATED,
    ByStars,
    Count,
    ForWhom,
    Prose,
    Rank,
    Rating,
    Readership,
    Text,
    Texts,
    TitleId,
    Year,
)


@dataclass(frozen=True, slots=True)
class Author:
    """`name` is "Family, Given" in Latin letters."""

    name: Text
    name_ja: Text | None = None
    name_kana: Text | None = None
    role: Text | None = None


@dataclass(frozen=True, slots=True)
class Title:
    """What the catalogue says of a title: text and facts, no price and no stock (those change by the minute)."""

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
    audience: ForWhom | None = None
    related: Annotated[tuple[TitleId, ...], Field(max_length=MOST_RELATED)] = ()

    @property
    def display(self) -> str:
        """The name to show: English where there is one, else romaji, Japanese, kana."""
        return self.en or self.romaji or self.ja or self.kana or self.title_id
