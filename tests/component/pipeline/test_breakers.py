"""A backend that fails is left alone, and takes no other along."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.calls import IDS
from tests.support.pipeline import Kit, Opener
from tests.support.store import Backends, Mood

pytestmark = pytest.mark.virtual_time


async def test_callers_in_a_hurry_open_nobodys_breaker(kit: Kit) -> None:
    """A backend that needs 60 ms is healthy, also when twenty callers gave it 50."""
    kit.backends.catalog.gate = asyncio.Event()
    for n in range(20):
        answer = await kit.ask(
            "get_manga_details", {"title_id": f"manga-00000{n % 6 + 1}"}, turn=f"t{n}", turn_budget_ms=305, user="u"
        )
        assert answer.meta["source"] == "fallback"
    assert kit.open_breakers() == []


async def test_five_failures_open_one_breaker_and_leave_the_other_backends_alone(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.FAILS
    for n in range(6):
        await kit.ask("search_manga_catalog", {"query": f"q{n}"})
    assert kit.open_breakers() == ["catalog"]
    asked = kit.calls_of("search")
    assert (await kit.ask("search_manga_catalog", {"query": "z"})).meta["source"] == "fallback"
    assert kit.calls_of("search") == asked, "it is left alone"
    assert (await kit.ask("check_inventory", IDS)).failure is None


async def test_a_catalogue_that_hangs_does_not_take_the_stock_down_with_it(kit: Kit) -> None:
    """The join after a call that used up its time is too short to say anything of the stock."""
    kit.backends.catalog.mood, kit.backends.stock.gate = Mood.HANGS, asyncio.Event()
    for n in range(8):
        answer = await kit.ask("search_manga_catalog", {"query": f"q{n}"})
        assert answer.meta["source"] == "fallback"
        assert answer.meta["degraded"] == ["matches", "stock"]
    assert kit.open_breakers() == ["catalog"]


async def test_a_backend_that_hangs_for_calls_with_time_enough_opens_its_breaker(opener: Opener, moody: Backends) -> None:
    kit = await opener()
    moody.catalog.mood = Mood.HANGS
    await asyncio.gather(*(kit.ask("search_manga_catalog", {"query": f"q{n}"}) for n in range(6)))
    assert kit.open_breakers() == ["catalog"]
