"""A failing backend is no longer asked, and affects no other backend."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.calls import IDS
from tests.support.pipeline import Kit, Opener
from tests.support.store import Backends, Mood

pytestmark = pytest.mark.virtual_time


async def test_calls_with_short_deadlines_open_no_breaker(kit: Kit) -> None:
    """A backend that needs 60 ms is healthy although twenty callers gave it 50 ms."""
    kit.backends.catalog.gate = asyncio.Event()
    for n in range(20):
        answer = await kit.ask(
            "get_manga_details", {"title_id": f"manga-00000{n % 6 + 1}"}, turn=f"t{n}", turn_budget_ms=305, user="u"
        )
        assert answer.meta["source"] == "fallback"
    assert kit.open_breakers() == []


async def test_five_failures_open_only_the_breaker_of_that_backend(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.FAILS
    for n in range(6):
        await kit.ask("search_manga_catalog", {"query": f"q{n}"})
    assert kit.open_breakers() == ["catalog"]
    asked = kit.calls_of("search")
    assert (await kit.ask("search_manga_catalog", {"query": "z"})).meta["source"] == "fallback"
    assert kit.calls_of("search") == asked, "it is left alone"
    assert (await kit.ask("check_inventory", IDS)).failure is None


async def test_hanging_catalogue_does_not_open_the_breaker_of_the_stock(kit: Kit) -> None:
    """A stock read at the end of a call's time is too short to prove the stock slow."""
    kit.backends.catalog.mood, kit.backends.stock.gate = Mood.HANGS, asyncio.Event()
    for n in range(8):
        answer = await kit.ask("search_manga_catalog", {"query": f"q{n}"})
        assert answer.meta["source"] == "fallback"
        assert answer.meta["degraded"] == ["matches", "stock"]
    assert kit.open_breakers() == ["catalog"]


async def test_backend_that_hangs_beyond_its_timeout_opens_its_breaker(opener: Opener, moody: Backends) -> None:
    kit = await opener()
    moody.catalog.mood = Mood.HANGS
    await asyncio.gather(*(kit.ask("search_manga_catalog", {"query": f"q{n}"}) for n in range(6)))
    assert kit.open_breakers() == ["catalog"]
