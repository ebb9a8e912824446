"""The event loop with virtual time: time passes only when nothing else is to do."""

from __future__ import annotations

import asyncio
import time

import pytest

from session.redis.keyvalue import Command
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.support.valkey import Clocked, ask
from tests.support.virtual_time import VirtualTimeLoop, clocks_of, running_clock

pytestmark = pytest.mark.virtual_time

HOUR = 3600.0


async def test_timeout_fires_at_once_in_virtual_time() -> None:
    clock, real = running_clock(), time.monotonic()
    began = clock()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(HOUR):
            await asyncio.Event().wait()
    assert clock() - began == pytest.approx(HOUR)
    assert time.monotonic() - real < HOUR


async def test_timers_fire_in_order_at_their_time() -> None:
    clock = running_clock()
    began, fired = clock(), []

    async def fires(after: float) -> None:
        await asyncio.sleep(after)
        fired.append((after, round(clock() - began, 6)))

    await asyncio.gather(*map(fires, (3.0, 0.5, HOUR, 0.0)))
    assert fired == [(0.0, 0.0), (0.5, 0.5), (3.0, 3.0), (HOUR, HOUR)]


async def test_virtual_time_stands_still_while_a_thread_works() -> None:
    """A working thread is not taken for a hang, however long it takes."""
    clock = running_clock()
    began = clock()
    async with asyncio.timeout(0.000_001):
        await asyncio.to_thread(time.sleep, 0.02)
    assert clock() == began


async def test_virtual_time_stands_still_while_valkey_is_asked(redis: MultiplexedRedis) -> None:
    clock = running_clock()
    began = clock()
    async with asyncio.timeout(0.000_001):
        await ask(Clocked(redis, clock), "SET", "a", "b")
        for _ in range(20):
            await Clocked(redis, clock).trip([Command(("GET", "a"))], _no_deadline())
    assert clock() == began


async def test_cancelled_thread_work_no_longer_holds_virtual_time() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    working = asyncio.ensure_future(asyncio.to_thread(time.sleep, 0.01))
    await asyncio.sleep(0)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    await asyncio.sleep(HOUR)
    assert loop.outside == 0


async def test_monotonic_and_wall_clock_of_a_test_advance_together() -> None:
    clocks, clock = clocks_of(running_clock()), running_clock()
    monotonic, wall = clocks.monotonic(), clocks.wall()
    clock.advance(5)
    assert (clocks.monotonic() - monotonic, clocks.wall() - wall) == (pytest.approx(5), pytest.approx(5))
    assert clocks.now().timestamp() == pytest.approx(clocks.wall())


def _no_deadline() -> Deadline:
    return Deadline.after(HOUR, running_clock())
