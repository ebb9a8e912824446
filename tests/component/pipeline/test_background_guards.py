"""Background reads have guards of their own in the wired server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from server.backends.guarded_store import BACKGROUND_POLICIES
from session.resilience.deadline import Deadline
from tests.support.pipeline import Kit, open_kit
from tests.support.snapshots import Away
from tests.support.store import BAD, Backends, Mood
from tools.store import stock as stock_snapshot
from tools.store.catalog import popular as popular_titles

pytestmark = pytest.mark.virtual_time

IDS = ["manga-000001"]


@pytest.fixture
async def wired(moody: Backends) -> AsyncIterator[Kit]:
    async with open_kit(Away(), moody, warm=False) as kit:
        yield kit


@pytest.mark.parametrize("mood", BAD)
async def test_failing_background_refreshes_open_no_breaker_of_the_calls(wired: Kit, moody: Backends, mood: Mood) -> None:
    assert await wired.store.popular.refresh()
    moody.catalog.mood = moody.stock.mood = mood
    for _ in range(12):
        assert not await wired.store.popular.refresh()
        assert not await wired.app.inventory.warm()
    assert wired.open_breakers() == []
    moody.catalog.mood = moody.stock.mood = Mood.WORKS
    soon = Deadline.after(5, wired.clock)
    assert await wired.store.catalog.get(IDS, soon)
    assert (await wired.store.stock.read(IDS, soon)).rows


async def test_background_reads_have_the_whole_timeout_they_ask_for(wired: Kit, moody: Backends) -> None:
    """The guard of calls would cut 5 s to 0.8 s."""
    now = wired.clock()
    await wired.store.popular.refresh()
    await wired.app.inventory.warm()
    for port, asked in ((moody.catalog, popular_titles.ASK_SECONDS), (moody.stock, stock_snapshot.ASK_SECONDS)):
        (_, arguments), *_ = port.asked
        assert arguments[-1].at - now == pytest.approx(asked)
    assert BACKGROUND_POLICIES["catalog"].attempt_seconds >= popular_titles.ASK_SECONDS
    assert BACKGROUND_POLICIES["stock"].attempt_seconds >= stock_snapshot.ASK_SECONDS


async def test_background_reads_use_no_bulkhead_slots_of_the_calls(wired: Kit, moody: Backends) -> None:
    moody.catalog.gate = asyncio.Event()
    refreshes = [asyncio.create_task(wired.store.popular.refresh()) for _ in range(70)]
    await asyncio.sleep(0)
    assert not wired.guards["catalog"]._places.locked()
    moody.catalog.gate.set()
    await asyncio.gather(*refreshes)
