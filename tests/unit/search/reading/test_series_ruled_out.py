"""A title that is not wanted takes its side stories with it, and each of several names counts."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from session.resilience.deadline import Deadline
from tests.support.named_catalog import NamedCatalog
from tools.store.failures import TimedOut
from tools.store.models import CatalogPage, CatalogQuery, Title
from tools.store.search.reading.reader import Reader

TITLES = (
    Title("t-1", en="One Piece", ja="ONE PIECE", tags=("Adventure",)),
    Title("t-2", en="One Piece Sea Stories", tags=("Adventure",)),
    Title("t-3", en="Naruto", ja="NARUTO -ナルト-", tags=("Ninja",)),
    Title("t-4", en="Pluto", tags=("Robots",)),
    Title("t-5", en="Real", tags=("Sports",)),
    Title("t-6", en="Realm of Rain", tags=("Fantasy",)),
)


class Unsearched(NamedCatalog):
    """Says what goes by a name, and finds nothing in time."""

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        raise TimedOut("late", dependency="catalog")


def without(text: str, catalog: NamedCatalog | None = None) -> set[str]:
    reader = Reader(catalog or NamedCatalog(TITLES), lambda: datetime(2026, 6, 1, tzinfo=UTC))
    return set(asyncio.run(reader.read(text, Deadline.after(5))).conditions.without_titles)


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("pirates but not One Piece", {"t-1", "t-2"}),
        ("adventure but neither One Piece nor Naruto", {"t-1", "t-2", "t-3"}),
        ("ワンピースでもナルトでもない冒険もの", {"t-1", "t-3"}),
        ("robots, except Pluto", {"t-4"}),
        ("sports, anything but Real", {"t-5"}),
    ],
)
def test_what_begins_with_an_unwanted_name_is_unwanted_too(text: str, titles: set[str]) -> None:
    """A short name begins others by chance: *Real* says nothing of *Realm of Rain*."""
    assert without(text) == titles


def test_without_its_series_in_time_the_title_itself_is_left_out() -> None:
    assert without("pirates but not One Piece", Unsearched(TITLES)) == {"t-1"}
