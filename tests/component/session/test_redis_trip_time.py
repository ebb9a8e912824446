"""What a trip's time is measured by: how long Redis takes, and not how long this process is busy with itself."""

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


async def test_a_loop_that_is_held_up_before_the_commands_leave_blames_nobody() -> None:
    """The time starts when they leave."""
    with private_valkey() as own:
        async with connected(own.address) as redis:
            asyncio.get_running_loop().call_soon(hold_up_the_loop)
            assert await redis.trip([Command(("PING",))], Deadline.after(BOUND)) == [b"PONG"]


async def test_a_loop_that_is_held_up_while_the_reply_waits_blames_nobody() -> None:
    """What had come by then counts, though it is read too late."""
    with private_valkey() as own:
        async with connected(own.address) as redis:
            trip = asyncio.create_task(redis.trip([Command(("PING",))], Deadline.after(BOUND)))
            await asyncio.sleep(0)  # the trip is made
            await asyncio.sleep(0)  # and leaves
            hold_up_the_loop()
            assert await trip == [b"PONG"]


async def test_a_redis_that_hangs_is_late_though_the_loop_was_held_up_too() -> None:
    """The second look finds nothing either."""
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
