"""What is read behind the calls has guards of its own: as wired, and not as a test would put it together."""

from __future__ import annotations

import asyncio
import time

import pytest

from server.backends import Ports
from server.wiring import BEHIND, POLICIES, _stock_snapshot, _store
from session.breaker import BreakerState
from session.deadline import Deadline
from tests.support.snapshots import Away, memory_over
from tests.support.store import BAD, Backends, Mood
from tools import popular_titles, stock_snapshot
from tools.contract import Store
from tools.resilience.backend import Backend
from tools.stock_snapshot import StockSnapshot

IDS = ["manga-000001"]


class Wired:
    def __init__(self, moody: Backends) -> None:
        memory = memory_over(Away())
        self.live = {name: Backend(name, policy) for name, policy in POLICIES.items()}
        ports = Ports(moody.catalog, moody.titles, moody.stock, moody.orders, moody.profiles)
        self.store: Store = _store(ports, self.live, memory, cache=True)
        self.snapshot: StockSnapshot = _stock_snapshot(self.store, memory, moody.stock)

    def open(self) -> list[str]:
        return [name for name, each in self.live.items() if each.breaker.state is not BreakerState.CLOSED]


@pytest.fixture
def wired(moody: Backends) -> Wired:
    return Wired(moody)


@pytest.mark.parametrize("mood", BAD)
async def test_refreshes_that_fail_leave_the_calls_alone(
    wired: Wired, moody: Backends, mood: Mood, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stock_snapshot, "PAUSE_SECONDS", 0.0)
    assert await wired.store.popular.refresh()
    for name in ("ASK_SECONDS",) if mood is Mood.HANGS else ():
        monkeypatch.setattr(popular_titles, name, 0.01)
        monkeypatch.setattr(stock_snapshot, name, 0.01)
    moody.catalog.mood = moody.stock.mood = mood
    for _ in range(12):
        assert not await wired.store.popular.refresh()
        assert not await wired.snapshot.warm()
    assert wired.open() == []
    moody.catalog.mood = moody.stock.mood = Mood.WORKS
    soon = Deadline.after(5)
    assert await wired.store.catalog.get(IDS, soon)
    assert (await wired.store.stock.read(IDS, soon)).rows


async def test_background_reads_have_all_the_time_that_they_ask_for(wired: Wired, moody: Backends) -> None:
    """No call's guard cuts 5 s to 0.8."""
    now = time.monotonic()
    await wired.store.popular.refresh()
    await wired.snapshot.warm()
    for port, asked in ((moody.catalog, popular_titles.ASK_SECONDS), (moody.stock, stock_snapshot.ASK_SECONDS)):
        (_, arguments), *_ = port.asked
        assert arguments[-1].at - now == pytest.approx(asked, abs=asked / 2)
    assert BEHIND["catalog"].attempt_seconds >= popular_titles.ASK_SECONDS
    assert BEHIND["stock"].attempt_seconds >= stock_snapshot.ASK_SECONDS


async def test_background_reads_take_no_place_from_the_calls(wired: Wired, moody: Backends) -> None:
    moody.catalog.gate = asyncio.Event()
    refreshes = [asyncio.create_task(wired.store.popular.refresh()) for _ in range(70)]
    await asyncio.sleep(0)
    assert not wired.live["catalog"]._places.locked()
    moody.catalog.gate.set()
    await asyncio.gather(*refreshes)
