"""The wired server: one clock for everything, and the longest time each part may delay an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import MethodType
from typing import Any

import pytest

from session.failures import MemoryUnavailable
from session.redis.keyvalue import KeyValue, Step
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.clocks import utc_now
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import Rate
from tests.support.pipeline import Kit, open_kit
from tests.support.snapshots import Away
from tests.support.store import Backends, Mood
from tools.contract import Json, ToolContext
from tools.registry import TOOLS

pytestmark = pytest.mark.virtual_time

OURS = ("server.", "session.", "tools.")
REAL = (time.monotonic, time.time, time.perf_counter, utc_now, datetime.now)
PIRATES, ORDER, IDS = {"query": "pirates"}, {"order_id": "MNG-UUUU0001"}, {"title_ids": ["manga-000001"]}


@pytest.fixture
async def kit(redis: MultiplexedRedis, moody: Backends) -> AsyncIterator[Kit]:
    async with open_kit(redis, moody, rate=Rate(10, 2)) as own:
        yield own


def held(thing: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds, by a name for a person."""
    if isinstance(thing, Mapping):
        yield from ((repr(key), value) for key, value in thing.items())
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from ((str(place), value) for place, value in enumerate(thing))
    elif isinstance(thing, partial):
        yield from (("func", thing.func), ("args", thing.args), ("keywords", thing.keywords))
    elif isinstance(thing, MethodType):
        yield "self", thing.__self__
    elif callable(thing) and getattr(thing, "__closure__", None):
        yield from (
            (name, cell.cell_contents) for name, cell in zip(thing.__code__.co_freevars, thing.__closure__, strict=True)
        )
    elif type(thing).__module__.startswith(OURS):
        slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
        names = {*slots, *getattr(thing, "__dict__", {})}
        yield from ((name, getattr(thing, name)) for name in names if hasattr(thing, name))


def real_clocks(root: Any) -> list[str]:
    """Where, below an object, one of the machine's own clocks is held."""
    found, seen, left = [], {id(root)}, [(type(root).__name__, root)]
    while left:
        path, thing = left.pop()
        for name, value in held(thing):
            if any(value is clock or value == clock for clock in REAL if callable(value)):
                found.append(f"{path}.{name}")
            if id(value) not in seen:
                seen.add(id(value))
                left.append((f"{path}.{name}", value))
    return found


async def test_every_wired_part_uses_the_injected_clock(kit: Kit) -> None:
    """A call or two are made first, so that parts made on demand exist. (Transports use real time.)"""
    kit.backends.stock.mood = Mood.FAILS
    for tool, arguments in (("search_manga_catalog", PIRATES), ("check_inventory", IDS), ("lookup_order", ORDER)):
        await kit.ask(tool, arguments, user=tool, session="s", turn="t")
    await kit.app.dependencies.states()
    app = kit.app
    assert real_clocks([app.pipeline, app.memory, app.turns, app.backends, app.inventory, app.dependencies]) == []


def test_search_for_real_clocks_finds_one() -> None:
    assert real_clocks([{"a": partial(print, Deadline(1.0))}]) == ["list.0.'a'.args.0.clock"]


# -- how long what hangs may hold an answer, to the millisecond


class Silent:
    """A Redis that takes every question and answers none, after the first `trips`."""

    def __init__(self, inner: KeyValue | None = None, trips: int = 0) -> None:
        self._inner = inner
        self._left = trips

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> Any:
        if self._inner is not None and self._left:
            self._left -= 1
            return await self._inner.trip(steps, deadline)
        await asyncio.sleep(deadline.remaining())  # by the loop's clock, which does not wait
        raise MemoryUnavailable("it did not answer in time")

    async def aclose(self) -> None: ...


ASKED: dict[str, dict[str, Any]] = {
    "search_manga_catalog": PIRATES,
    "get_manga_details": {"title_id": "manga-000001"},
    "check_inventory": IDS,
    "get_recommendations": {"criteria": "pirates"},
    "find_volumes": {"title_id": "manga-000001", "volume": "next"},
    "classify_genre": {"text": "pirates"},
    "lookup_order": ORDER,
}


@pytest.mark.parametrize(
    ("tool", "ms"),
    [
        ("search_manga_catalog", 800 + 10),  # the join of price and stock waits for 10 ms more
        ("get_manga_details", 300),  # stock is read beside the title, so nothing more is waited for
        ("check_inventory", 200),
        ("get_recommendations", 1000 + 10 + 4),  # the rung asks what the customer owns, and then the join
        ("find_volumes", 300),
        ("classify_genre", 200),  # without the catalogue's words nothing is to be compared
        ("lookup_order", 300),
    ],
)
async def test_answer_arrives_at_the_tool_timeout_while_every_backend_hangs(kit: Kit, tool: str, ms: int) -> None:
    """With Redis hanging too it arrives 50 ms later."""
    here = kit.backends
    for port in (here.catalog, here.titles, here.stock, here.releases, here.orders, here.profiles):
        port.mood = Mood.HANGS
    assert (await kit.ask(tool, ASKED[tool], user="u", session="s", turn="t")).meta["latencyMs"] == pytest.approx(ms)
    kit.redis.inner = Silent()
    assert (await kit.ask(tool, ASKED[tool], user="v", session="s", turn="t")).meta["latencyMs"] == pytest.approx(50 + ms)


@pytest.mark.parametrize("answered", [0, 1])
async def test_hanging_redis_delays_an_answer_by_50_ms_in_all(kit: Kit, answered: int) -> None:
    """A call whose begin failed writes no record."""
    kit.redis.inner = Silent(kit.redis.inner, answered)
    answer = await kit.ask("search_manga_catalog", PIRATES, user="u", session="s", turn="t")
    assert (answer.failure, answer.meta["degraded"]) == (None, ["session"])
    assert answer.meta["latencyMs"] == pytest.approx(50)
    assert len(kit.redis.trips) == 1 + answered


async def test_hanging_redis_delays_an_answer_of_an_exhausted_turn_by_25_ms(kit: Kit) -> None:
    kit.redis.inner = Silent()
    who = {"user": "u", "session": "s", "turn": "t"}
    await kit.ask("search_manga_catalog", PIRATES, **who)
    kit.clock.advance(2.9)
    answer = await kit.ask("search_manga_catalog", PIRATES | {"max_results": 3}, **who)
    assert (answer.meta["source"], answer.meta["latencyMs"]) == ("fallback", pytest.approx(25))


async def test_hanging_record_in_an_exhausted_turn_delays_the_answer_by_40_ms(kit: Kit) -> None:
    who = {"user": "u", "session": "s", "turn": "t", "arrived": kit.clock()}
    kit.redis.inner = Silent(kit.redis.inner, 3)
    await kit.ask("search_manga_catalog", PIRATES, **who)
    kit.clock.advance(2.9)
    answer = await kit.ask("search_manga_catalog", PIRATES | {"max_results": 3}, **who | {"arrived": kit.clock() - 0.01})
    assert (answer.meta["source"], answer.meta["degraded"]) == ("fallback", ["session"]), "its stock was read a moment ago"
    assert answer.meta["latencyMs"] == pytest.approx(40)


async def test_record_of_a_timed_out_call_waits_at_most_10_ms(kit: Kit) -> None:
    """It waits 10 ms past the call's end and at least 4 ms, where a call with time to spare waits 50 ms."""
    kit.backends.orders.mood = Mood.HANGS
    kit.redis.inner = Silent(kit.redis.inner, 1)
    answer = await kit.ask("lookup_order", ORDER, user="u", session="s", turn="t")
    assert (answer.failure, answer.meta["latencyMs"]) == ("TIMEOUT", pytest.approx(310))


async def test_user_limit_is_kept_in_process_across_sessions_while_redis_is_away(moody: Backends) -> None:
    """The production breaker stands between, so Redis is not asked for a while. The bucket refills."""
    async with open_kit(Away(), moody, rate=Rate(10, 8)) as kit:
        told = [(await kit.ask("check_inventory", IDS, user="u", session=f"s{n}")).failure for n in range(10)]
        assert told == [None] * 8 + ["RATE_LIMITED"] * 2
        assert (await kit.ask("check_inventory", IDS, user="v", session="s0")).failure is None
        kit.clock.advance(0.1)
        assert [(await kit.ask("check_inventory", IDS, user="u")).failure for _ in range(2)] == [None, "RATE_LIMITED"]


async def test_shared_flight_still_ends_at_the_tool_timeout_of_each_caller(redis: MultiplexedRedis, moody: Backends) -> None:
    """The deadline stage alone ends it: no backend guard sees the flight, and a caller with time left waits on."""

    async def hangs(context: ToolContext, asked: Json) -> Json:
        await asyncio.Event().wait()
        return {}

    tools = [replace(tool, handler=hangs, fallback=None) for tool in TOOLS if tool.name == "search_manga_catalog"]
    async with open_kit(redis, moody, tools=tools) as kit:
        first = asyncio.create_task(kit.ask("search_manga_catalog", PIRATES))
        await asyncio.sleep(0.5)  # of the first call's time, by the loop's clock
        second = await kit.ask("search_manga_catalog", PIRATES)
        assert [(await first).meta["latencyMs"], second.meta["latencyMs"]] == [pytest.approx(800), pytest.approx(300)]
        assert ((await first).failure, second.failure) == ("TIMEOUT", "TIMEOUT")
