"""A trip's time on a loop that is itself held up."""

from __future__ import annotations

import asyncio

import pytest

from session.failures import MemoryUnavailable
from session.redis.multiplexed import Trip


async def test_what_had_arrived_when_the_time_was_up_is_still_read() -> None:
    trip = Trip(asyncio.get_running_loop(), 1, 0.0)
    trip.start_timer()
    for _ in range(2):  # in the first of these turns the time is up
        await asyncio.sleep(0)
    trip.take(b"in time")
    assert await trip.replies() == [b"in time"]


async def test_a_reply_that_never_comes_is_given_up() -> None:
    trip = Trip(asyncio.get_running_loop(), 1, 0.0)
    trip.start_timer()
    with pytest.raises(MemoryUnavailable, match="did not answer in time"):
        await trip.replies()


async def test_a_trip_has_its_replies_once_the_last_has_come() -> None:
    trip = Trip(asyncio.get_running_loop(), 2, 60.0)
    trip.start_timer()
    trip.take(b"first")
    assert not trip.done.done()
    trip.take(b"last")
    assert await trip.replies() == [b"first", b"last"]
