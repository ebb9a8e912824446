"""A reader of sentences, for tests of what it reads."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from session.resilience.deadline import Deadline
from tests.support.named_catalog import NamedCatalog
from tools.store.models import Title
from tools.store.search.reading.reader import Reader
from tools.store.search.reading.reading import Reading

YEAR = 2026
MAGAZINES = (
    "Weekly Shonen Jump",
    "Shonen Jump+",
    "Monthly Afternoon",
    "Weekly Young Jump",
    "Hana to Yume",
    "Nakayoshi",
    "Opera",
)
TAGS = ("Award Winning", "Horror", "Romance", "Mystery", "Sports", "Comedy", "Fantasy", "Sci-Fi")


def titles_of_terms() -> tuple[Title, ...]:
    """Titles for the sake of their words: a tag and a magazine each, under names that no sentence here contains."""
    return tuple(
        Title(
            f"w-{number}", en=f"Qwxz {number}", tags=(TAGS[number % len(TAGS)],), magazine=MAGAZINES[number % len(MAGAZINES)]
        )
        for number in range(len(TAGS) * len(MAGAZINES))
    )


def a_reader(titles: Sequence[Title] = ()) -> Reader:
    """It lives in `YEAR`."""
    return Reader(NamedCatalog((*titles, *titles_of_terms())), lambda: datetime(YEAR, 6, 1, tzinfo=UTC))


def read(text: str, reader: Reader | None = None) -> Reading:
    return asyncio.run((reader or a_reader()).read(text, Deadline.after(30)))
