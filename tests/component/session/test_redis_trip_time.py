"""A round trip's time is that of Redis, and not that of this process's blocked loop."""

from __future__ import annotations

import asyncio
import time

import pytest

from session.failures import MemoryUnavailable
from session.redis.keyvalue import Command
from session.resilience.deadline import Deadline
from tests.support.valkey import connected, private_valkey

BOUND = 0.05
HELD_UP = 0.15


def hold_up_the_loop() -> None:
    """What many calls at once do to each other."""
    time.sleep(HELD_UP)  # a loop that stands still is what is tested


async def test_loop_blocked_before_sending_does_not_time_out_the_trip() -> None:
    """The timeout starts when the commands are sent."""
    with private_valkey() as own:
        async with connected(own.address) as redis:
            asyncio.get_running_loop().call_soon(hold_up_the_loop)
            assert await redis.trip([Command(("PING",))], Deadline.after(BOUND)) == [b"PONG"]


async def test_loop_blocked_while_the_reply_waits_does_not_time_out_the_trip() -> None:
    """Replies received by then count, though they are read too late."""
    with private_valkey() as own:
        async with connected(own.address) as redis:
            trip = asyncio.create_task(redis.trip([Command(("PING",))], Deadline.after(BOUND)))
            await asyncio.sleep(0)  # the trip is made
            await asyncio.sleep(0)  # and leaves
            hold_up_the_loop()
            assert await trip == [b"PONG"]


async def test_hanging_redis_times_out_though_the_loop_was_blocked_too() -> None:
    """A second look after the block finds no reply either."""
    with private_valkey() as own:
        async with connected(own.address) as redis:
            own.hang()
            try:
                trip = asyncio.create_task(redis.trip([Command(("PING",))], Deadline.after(BOUND)))
                await asyncio.sleep(0)  # the trip is made
                hold_up_the_loop()
                async with asyncio.timeout(30):
                    with pytest.raises(MemoryUnavailable, match="in time"):
                        await trip
            finally:
                own.go_on()
