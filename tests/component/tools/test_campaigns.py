"""Price conditions of a search, with running and with ended campaigns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from session.redis.multiplexed import MultiplexedRedis
from tests.support.pipeline import Kit, open_kit
from tests.support.store import BAD, Mood, Shelf, held_shelf

pytestmark = pytest.mark.virtual_time
OVER, RUNNING, CHEAP, DEAR = (f"manga-{n:06}" for n in range(1, 5))
ASKED = {"query": "drama", "format": "digital", "max_price_jpy": 500}


def record(title_id: str, price: int, **more: Any) -> dict[str, Any]:
    offer = {"format": "digital", "price_jpy": price, "stock": None, **more}
    return {"title_id": title_id, "title": {"en": title_id}, "tags": ["Drama"], "genre": "seinen", "offers": [offer]}


RECORDS = [
    record(OVER, 400, list_price_jpy=700, campaign={"start": "2001-01-01", "until": "2001-01-31"}),
    record(RUNNING, 450, list_price_jpy=700, campaign={"start": "01-01", "until": "12-31"}),
    record(CHEAP, 480),
    record(DEAR, 700),
]


@pytest.fixture(scope="session")
def fair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    with held_shelf(tmp_path_factory.mktemp("fair"), RECORDS, ()) as shelf:
        yield shelf


@pytest.fixture
async def kit(redis: MultiplexedRedis, fair: Shelf) -> AsyncIterator[Kit]:
    async with open_kit(redis, fair.in_moods()) as opened:
        yield opened


@pytest.mark.parametrize("mood", [Mood.WORKS, *BAD])
async def test_expired_campaign_does_not_satisfy_a_price_limit(kit: Kit, mood: Mood) -> None:
    """The count and the shown titles agree, and so does a check of the record alone."""
    kit.backends.stock.mood = mood
    answer = await kit.ask("search_manga_catalog", ASKED)
    assert ({card["title_id"] for card in answer.value["results"]}, answer.value["total"]) == ({RUNNING, CHEAP}, 2)


async def test_titles_are_sorted_by_the_price_of_today(kit: Kit) -> None:
    asked = {"query": "drama", "format": "digital", "sort": "price"}
    cards = (await kit.ask("search_manga_catalog", asked)).value["results"]
    assert [card["title_id"] for card in cards[:2]] == [RUNNING, CHEAP]
    assert [card["price_jpy"] for card in cards] == [450, 480, 700, 700]
