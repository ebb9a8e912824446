"""One shared connection to Redis: its round trips, its silence, its greeting and its reasons."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Sequence

import pytest

from session.failures import MemoryRefused, MemoryUnavailable
from session.redis.address import RedisAddress
from session.redis.keyvalue import Command
from session.redis.multiplexed import Trip, Wire, greeting, reason
from tests.support.cases import cases
from tests.support.virtual_time import running_clock


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


class Line(asyncio.Transport):
    """A connection that nobody answers."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.aborted: list[float] = []

    def write(self, data: object) -> None:
        assert isinstance(data, bytes)
        self.written.append(data)

    def abort(self) -> None:
        self.aborted.append(running_clock()())


PING = Command(("PING",))


def connected() -> tuple[Wire, Line]:
    wire, line = Wire(asyncio.get_running_loop(), lambda: None), Line()
    wire.connection_made(line)
    return wire, line


@pytest.mark.virtual_time
@cases(
    ("replies", "closes"),
    [((), 1.0), ((0.75,), 1.75), ((0.75, 1.5), None), ((0.75, 1.5, 4.0), 4.0)],
    ids=["none", "one", "both", "one too many"],
)
async def test_connection_is_closed_after_a_second_of_silence_or_by_a_reply_to_nothing(
    replies: Sequence[float], closes: float | None
) -> None:
    wire, line = connected()
    began = running_clock()()
    sent = [wire.send([PING], 60.0) for _ in range(2)]
    for seconds in replies:
        asyncio.get_running_loop().call_later(seconds, wire.data_received, b"+PONG\r\n")
    await asyncio.sleep(9)
    assert line.written == [b"*1\r\n$4\r\nPING\r\n" * 2], "both leave in one write"
    assert [at - began for at in line.aborted] == ([] if closes is None else [closes])
    assert wire.closed is (closes is not None)
    assert [trip.done.done() for trip in sent] == [len(replies) > number for number in range(2)]
    if closes is not None:
        with pytest.raises(MemoryUnavailable, match="not taking commands"):
            wire.send([PING], 60.0)
        return
    wire.send([PING], 60.0)
    await asyncio.sleep(9)
    assert [at - began for at in line.aborted] == [10.0]


@pytest.mark.virtual_time
async def test_round_trip_ends_in_the_time_that_it_was_given_and_twenty_thousand_replies_may_be_due() -> None:
    wire, _ = connected()
    with pytest.raises(MemoryUnavailable, match="no time left"):
        wire.send([PING], 0.0)
    began = running_clock()()
    with pytest.raises(MemoryUnavailable, match="in time"):
        await wire.send([PING], 0.25).replies()
    assert running_clock()() - began == 0.25
    wire, _ = connected()
    wire.send([PING] * 20_000, 60.0)
    assert wire.owed_replies == 20_000
    with pytest.raises(MemoryUnavailable, match="not taking commands"):
        wire.send([PING], 60.0)
    wire.data_received(b"+PONG\r\n")
    wire.send([PING], 60.0)


USER, PASSWORD, DATABASE = Command(("AUTH", "u", "p")), Command(("AUTH", "p")), Command(("SELECT", 3))


@cases(
    ("address", "fetched", "commands"),
    [
        (RedisAddress(), None, [PING]),
        (RedisAddress(username="u"), None, [PING]),
        (RedisAddress(password="p"), None, [PASSWORD, PING]),
        (RedisAddress(username="u", password="p", database=3), None, [USER, PING, DATABASE]),
        (RedisAddress(username="x", password="y"), ("u", "p"), [USER, PING]),
    ],
)
def test_connection_is_greeted_with_what_its_address_states(
    address: RedisAddress, fetched: tuple[str, str] | None, commands: list[Command]
) -> None:
    assert greeting(address, fetched) == commands


@cases(
    ("failure", "why"),
    [
        (MemoryUnavailable("own words"), "own words"),
        (MemoryRefused("own words"), "own words"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), "ConnectionRefusedError, refused"),
        (OSError("10.0.0.1"), "OSError"),
        (ValueError("hunter2"), "ValueError"),
    ],
)
def test_reason_of_a_lost_connection_quotes_nothing_foreign(failure: Exception, why: str) -> None:
    assert reason(failure) == why
