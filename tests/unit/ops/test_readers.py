"""The queue of a page's reader is bounded, and its last bytes are delivered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from server.ops.streams import LINGER_SECONDS, MOST_WAITING_BYTES, TICK_SECONDS, Publisher, Subscriber, Subscribers

pytestmark = pytest.mark.virtual_time
CALL = b"event: call\ndata: 1\n\n"


class Observed:
    """Says one call at each tick; `fault` makes it fail."""

    def __init__(self) -> None:
        self.fault: Exception | None = None
        self.ended = 0

    def hello(self) -> dict[str, Any]:
        return {}

    def state(self) -> dict[str, Any]:
        return {}

    def calls(self) -> list[dict[str, Any]]:
        return [{}]

    def tick(self) -> None:
        if self.fault is not None:
            raise self.fault

    def end(self) -> None:
        self.ended += 1


def reader() -> Subscriber:
    return Subscriber(holder="somebody")


async def test_reader_keeps_only_the_newest_state_and_all_calls_behind_it() -> None:
    one = reader()
    for number in range(3):
        one.push(b"state %d;" % number, b"call %d;" % number)
    assert await one.take() == b"state 2;call 0;call 1;call 2;"


async def test_full_reader_drops_calls_until_it_is_read() -> None:
    one = reader()
    one.push(b"", b"x" * MOST_WAITING_BYTES)
    one.push(b"state", CALL)
    assert len(await one.take()) == MOST_WAITING_BYTES + len(b"state")
    one.push(b"", CALL)
    assert await one.take() == CALL


async def test_empty_push_wakes_no_reader() -> None:
    one = reader()
    one.push(b"", b"")
    taking = asyncio.create_task(one.take())
    await asyncio.sleep(1)
    assert not taking.done()
    one.push(b"", CALL)
    assert await taking == CALL


async def test_ended_reader_still_gets_its_last_bytes_and_then_an_empty_one() -> None:
    one = reader()
    one.push(b"last", b"")
    one.end()
    assert [await one.take(), await one.take()] == [b"last", b""]


async def test_readers_that_do_not_leave_in_time_are_cancelled() -> None:
    readers, leaves, stays = Subscribers(), reader(), reader()
    for each in (leaves, stays):
        readers.add(each)
    ending = asyncio.create_task(readers.end_within(0.5))
    await asyncio.sleep(0.1)
    assert leaves.over
    readers.release(leaves)
    await ending
    assert (leaves.scope.cancel_called, stays.scope.cancel_called) == (False, True)


async def test_publisher_error_ends_the_streams_and_the_next_page_starts_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    observed: list[Observed] = []

    def begin() -> Observed:
        observed.append(Observed())
        return observed[-1]

    readers, one, other = Subscribers(), reader(), reader()
    publisher = Publisher(readers, begin, lambda: False, asyncio.get_running_loop().time)
    readers.add(one)
    publisher.greet(one)
    observed[0].fault = ValueError("a fault")
    await asyncio.sleep(2 * TICK_SECONDS)
    assert (one.over, observed[0].ended) == (True, 1)
    assert "the task 'ops' has died" in caplog.text
    readers.release(one)
    readers.add(other)
    publisher.greet(other)
    assert (len(observed), observed[1].ended, other.over) == (2, 0, False)
    readers.release(other)
    await asyncio.sleep(LINGER_SECONDS + 2 * TICK_SECONDS)
    assert observed[1].ended == 1
