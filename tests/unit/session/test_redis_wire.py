"""The timeout of a Redis round trip on a blocked event loop."""

from __future__ import annotations

import asyncio

import pytest

from session.failures import MemoryUnavailable
from session.redis.multiplexed import Trip


async def test_reply_received_in_the_same_loop_iteration_as_the_timeout_is_read() -> None:
    trip = Trip(asyncio.get_running_loop(), 1, 0.0)
    trip.start_timer()
    for _ in range(2):  # in the first of these turns the time is up
        await asyncio.sleep(0)
    trip.take(b"in time")
    assert await trip.replies() == [b"in time"]


async def test_round_trip_without_a_reply_times_out() -> None:
    trip = Trip(asyncio.get_running_loop(), 1, 0.0)
    trip.start_timer()
    with pytest.raises(MemoryUnavailable, match="did not answer in time"):
        await trip.replies()


async def test_round_trip_completes_with_its_last_reply() -> None:
    trip = Trip(asyncio.get_running_loop(), 2, 60.0)
    trip.start_timer()
    trip.take(b"first")
    assert not trip.done.done()
    trip.take(b"last")
    assert await trip.replies() == [b"first", b"last"]
