"""The titles nearest to a text in meaning, in each catalogue."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tools.store.failures import TimedOut
from tools.store.models import Neighbour, Title
from tools.store.ports import CatalogPort

LIMIT = 20


async def near(catalog: CatalogPort, text: str, limit: int = LIMIT) -> tuple[Neighbour, ...]:
    """As soon as the text has a vector: a first one may take longer than a call waits."""
    async with asyncio.timeout(60):
        while (found := await catalog.nearest(text, limit, Deadline.after(30))) is None:
            await asyncio.sleep(0.01)
    return found


@cases("language", ["en", "ja"])
async def test_synopsis_is_nearest_to_its_own_title(catalog: CatalogPort, titles: Sequence[Title], language: str) -> None:
    for title in titles[::40]:
        text = title.synopsis_en if language == "en" else title.synopsis_ja
        assert text is not None
        assert (await near(catalog, text))[0].title == title


@cases("text", ["a cook in a haunted inn", "海賊の冒険", "?", "x" * 500], ids=ascii)
async def test_nearest_titles_are_sorted_by_likeness_and_limited(catalog: CatalogPort, text: str) -> None:
    found = await near(catalog, text)
    likeness = [each.likeness for each in found]
    assert likeness == sorted(likeness, reverse=True)
    assert all(-1 <= each <= 1 for each in likeness)
    assert len(found) <= LIMIT
    assert [each.title for each in await near(catalog, text, 5)] == [each.title for each in found[:5]]


async def test_terms_count_the_titles_of_each_readership(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    terms = await catalog.terms(Deadline.after(30))
    genres = [title.genre for title in titles if title.genre]
    assert dict(terms.readerships) == {genre: genres.count(genre) for genre in set(genres)}
    assert terms.titles == len(titles)


async def test_expired_deadline_raises_timed_out_or_returns_none(catalog: CatalogPort) -> None:
    try:
        found = await catalog.nearest("what nobody asked for before", LIMIT, Deadline.after(-1))
    except TimedOut:
        return
    assert found is None
