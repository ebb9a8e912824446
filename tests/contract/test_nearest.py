"""Which titles come nearest to a text in meaning, whatever the catalogue is in."""

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
async def test_a_synopsis_is_nearest_to_its_own_title(catalog: CatalogPort, titles: Sequence[Title], language: str) -> None:
    for title in titles[::40]:
        text = title.synopsis_en if language == "en" else title.synopsis_ja
        assert text is not None
        assert (await near(catalog, text))[0].title == title


@cases("text", ["a cook in a haunted inn", "海賊の冒険", "?", "x" * 500], ids=ascii)
async def test_the_nearest_come_first_and_no_more_than_are_asked_for(catalog: CatalogPort, text: str) -> None:
    found = await near(catalog, text)
    likeness = [each.likeness for each in found]
    assert likeness == sorted(likeness, reverse=True)
    assert all(-1 <= each <= 1 for each in likeness)
    assert len(found) <= LIMIT
    assert [each.title for each in await near(catalog, text, 5)] == [each.title for each in found[:5]]


async def test_the_catalogue_says_how_many_titles_each_readership_has(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    terms = await catalog.terms(Deadline.after(30))
    genres = [title.genre for title in titles if title.genre]
    assert dict(terms.readerships) == {genre: genres.count(genre) for genre in set(genres)}
    assert terms.titles == len(titles)


async def test_at_a_deadline_that_is_over_it_has_timed_out_or_has_no_vector(catalog: CatalogPort) -> None:
    try:
        found = await catalog.nearest("what nobody asked for before", LIMIT, Deadline.after(-1))
    except TimedOut:
        return
    assert found is None
