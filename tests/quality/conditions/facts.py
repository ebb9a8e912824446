"""A title as the judge sees it: its facts, made comparable once. The folding of names is the judge's own, so that it does not
share a mistake with the product."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from tests.quality.conditions.audience import audiences
from tools.store.models import Title

_LONG_VOWELS = re.compile("ou|oo|uu")
_WORD = re.compile(r"[\w+]+")


@dataclass(frozen=True, slots=True)
class Facts:
    """`authors` has an entry for each way a name is written: the set of its Latin parts, or the Japanese name in one."""

    title_id: str
    names: frozenset[str]
    authors: frozenset[frozenset[str]]
    genre: str | None
    tags: frozenset[str]
    audiences: frozenset[str]
    status: str | None
    volumes: int | None
    year: int | None
    magazine: frozenset[str]
    rating: float | None
    rating_count: int
    rank: int | None

    @classmethod
    def of(cls, title: Title) -> Facts:
        names = (title.en, title.romaji, title.ja, title.kana, *title.alt_titles)
        written = (name for author in title.authors for name in (author.name, author.name_ja) if name)
        tags = frozenset(title.tags)
        return cls(
            title_id=title.title_id,
            names=frozenset(letters(name) for name in names if name),
            authors=frozenset(map(parts, written)),
            genre=title.genre,
            tags=tags,
            audiences=audiences(title.genre, tags),
            status=title.status,
            volumes=title.volumes,
            year=title.start_year,
            magazine=parts(title.magazine or ""),
            rating=title.rating,
            rating_count=title.rating_count or 0,
            rank=title.popularity_rank,
        )


def letters(name: str) -> str:
    """Letters and digits alone, in one case and one width: "Haikyu!!" is "haikyu"."""
    return "".join(each for each in unicodedata.normalize("NFKC", name).casefold() if each.isalnum())


def parts(name: str) -> frozenset[str]:
    """Words in any order, long vowels short: "Shounen Jump (Weekly)" is "Weekly Shōnen Jump". A plus is part of its word."""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    plain = unicodedata.normalize("NFC", "".join(each for each in decomposed if not "\u0300" <= each <= "\u036f"))
    return frozenset(_LONG_VOWELS.sub(lambda vowels: vowels.group()[0], word) for word in _WORD.findall(plain))
