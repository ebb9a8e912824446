"""Equal concurrent calls share one call of the backend."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from server.call import Call, Outcome
from server.stages.cache import CacheStage
from session.redis.keyvalue import Command
from tests.support.calls import ARGUMENTS, IDS, QUERY
from tests.support.pipeline import Kit, Opener
from tests.support.store import Backends, Mood
from tests.support.valkey import eventually

pytestmark = pytest.mark.virtual_time


async def test_equal_concurrent_calls_share_one_backend_call(kit: Kit) -> None:
    kit.backends.catalog.gate = asyncio.Event()
    tasks = [asyncio.create_task(kit.ask("search_manga_catalog", QUERY, user=f"u{n}", session=f"s{n}")) for n in range(20)]
    await eventually(lambda: _waiting(kit) == 20)
    kit.backends.catalog.gate.set()
    answers = await asyncio.gather(*tasks)
    assert kit.calls_of("search") == 1
    assert len({answer.texts[0] for answer in answers}) == 1
    writes = [step for trip in kit.redis.trips for step in trip if isinstance(step, Command) and step[0] == "SET"]
    assert len([step for step in writes if ":cache:" in str(step[1])]) == 1


def _waiting(kit: Kit) -> int:
    return sum(flight.waiting for flight in kit.pipeline.cache.flights.values())


async def test_different_calls_share_no_flight(kit: Kit) -> None:
    asked = [
        ("check_inventory", IDS, {"user": "u"}),
        ("check_inventory", IDS, {"user": "v"}),
        ("check_inventory", IDS, {"user": "v", "session": "s"}),
        ("lookup_order", ARGUMENTS["lookup_order"], {"user": "u"}),
        ("lookup_order", ARGUMENTS["lookup_order"], {"user": "v"}),
    ]
    kit.backends.stock.gate = kit.backends.orders.gate = asyncio.Event()
    calls = asyncio.gather(*(kit.ask(tool, arguments, **who) for tool, arguments, who in asked))
    await eventually(lambda: len(kit.pipeline.cache.flights) == 5)
    kit.backends.stock.gate.set()
    answers = await calls
    assert [answer.failure for answer in answers] == [None, None, None, None, "NOT_FOUND"]


async def test_flight_goes_on_when_its_first_caller_is_cancelled(kit: Kit) -> None:
    kit.backends.catalog.gate = asyncio.Event()
    first = asyncio.create_task(kit.ask("search_manga_catalog", QUERY))
    await eventually(lambda: _waiting(kit) == 1)
    second = asyncio.create_task(kit.ask("search_manga_catalog", QUERY))
    await eventually(lambda: _waiting(kit) == 2)
    first.cancel()
    await eventually(first.done)
    kit.backends.catalog.gate.set()
    assert (await second).failure is None
    assert (kit.calls_of("search"), kit.backends.catalog.cancelled) == (1, 0)
    assert (await kit.ask("search_manga_catalog", QUERY)).meta["source"] == "cache"


async def test_flight_is_cancelled_with_its_last_caller(kit: Kit) -> None:
    kit.backends.catalog.gate = asyncio.Event()
    tasks = [asyncio.create_task(kit.ask("search_manga_catalog", QUERY)) for _ in range(3)]
    await eventually(lambda: _waiting(kit) == 3)
    (flight,) = kit.pipeline.cache.flights.values()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert flight.task.cancelling(), "not only at its deadline"
    await eventually(lambda: kit.backends.catalog.cancelled == 1)
    await eventually(lambda: not kit.pipeline.cache.flights)
    kit.backends.catalog.gate.set()
    assert (await kit.ask("search_manga_catalog", QUERY)).failure is None, "a flight that was cancelled is not joined"


async def test_caller_with_a_short_deadline_leaves_the_flight_and_others_are_answered(kit: Kit) -> None:
    kit.backends.catalog.gate = asyncio.Event()
    patient = asyncio.create_task(kit.ask("search_manga_catalog", QUERY, turn="a", session="s"))
    await eventually(lambda: _waiting(kit) == 1)
    hurried = await kit.ask("search_manga_catalog", QUERY, turn_budget_ms=310, turn="b", session="s")
    assert hurried.meta["source"] == "fallback"
    kit.backends.catalog.gate.set()
    assert (await patient).meta["source"] == "live"


async def test_degradation_of_a_shared_answer_is_told_to_every_caller(kit: Kit) -> None:
    kit.backends.orders.mood = Mood.FAILS
    answers = await asyncio.gather(*(kit.ask("get_recommendations", {"criteria": "x"}, user="u") for _ in range(3)))
    assert kit.calls_of("search") == 1
    assert [answer.meta["degraded"] for answer in answers] == [["orders"]] * 3


async def test_closing_the_cache_stage_cancels_flights(opener: Opener, moody: Backends) -> None:
    kit = await opener()
    moody.catalog.gate = asyncio.Event()
    task = asyncio.create_task(kit.ask("search_manga_catalog", QUERY))
    await eventually(lambda: kit.calls_of("search") == 1)  # somebody waits a moment before the flight has asked
    await kit.pipeline.cache.aclose()
    assert (await task).meta["source"] == "fallback"
    assert moody.catalog.cancelled == 1


async def test_late_end_of_a_cancelled_flight_leaves_the_next_one_alone(kit: Kit) -> None:
    """The cancelled flight takes its time to end while a new one with the same key runs."""
    cache: CacheStage = kit.pipeline.cache
    slow = asyncio.Event()

    async def stubborn(call: Call) -> Outcome:
        try:
            await slow.wait()
        except asyncio.CancelledError:
            await slow.wait()
            raise
        return Outcome({"ok": True})

    async def quick(call: Call) -> Outcome:
        return Outcome({"ok": True})

    call = kit.call("search_manga_catalog", QUERY)
    await kit.pipeline.run(call)
    call.begin_result = replace(call.required_begin, cached=None)
    first = asyncio.create_task(cache(call, stubborn))
    await eventually(lambda: bool(cache.flights))
    (flight,) = cache.flights.values()
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert (await cache(call, quick)).value == {"ok": True}
    assert not flight.task.done()
    slow.set()
    await asyncio.gather(flight.task, return_exceptions=True)
    assert cache.flights == {}
