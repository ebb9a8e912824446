"""The queue of a page's reader is bounded, and its last bytes are delivered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from server.ops.streams import Publisher, StreamEndpoint, Subscriber, Subscribers

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
    one.push(b"", b"x" * 131_072)
    one.push(b"state", CALL)
    assert len(await one.take()) == 131_072 + len(b"state")
    one.push(b"", b"x" * 131_000)
    for size in (73, 72, 1):
        one.push(b"", b"y" * size)
    assert await one.take() == b"x" * 131_000 + b"y" * 72


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
        readers.take(each)
    ending = asyncio.create_task(streams_of(readers).close_all())
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
    readers.take(one)
    publisher.greeting()
    observed[0].fault = ValueError("a fault")
    await asyncio.sleep(0.6)
    assert (one.over, observed[0].ended) == (True, 1)
    assert "the task 'ops' has died" in caplog.text
    readers.release(one)
    readers.take(other)
    publisher.greeting()
    assert (len(observed), observed[1].ended, other.over) == (2, 0, False)
    readers.release(other)
    await asyncio.sleep(2.9)
    assert observed[1].ended == 0
    await asyncio.sleep(0.2)
    assert observed[1].ended == 1


async def test_publisher_sends_calls_each_half_second_states_each_second_and_a_beat_each_quarter_minute() -> None:
    """A reader of a draining server gets the state at once, and is then ended."""
    loop, draining, heard = asyncio.get_running_loop(), [], list[tuple[float, bytes]]()
    readers, one = Subscribers(), reader()
    publisher = Publisher(readers, Observed, lambda: bool(draining), loop.time)
    readers.take(one)
    began = loop.time()
    greeting = publisher.greeting()

    async def hear() -> None:
        while messages := await one.take():
            heard.append((round(loop.time() - began, 3), messages))

    hearing = asyncio.create_task(hear())
    await asyncio.sleep(30.6)
    draining.append(True)
    await hearing
    call, state, beat = b"event: call\ndata: {}\n\n", b"event: state\ndata: {}\n\n", b": beat\n\n"
    assert greeting == b"retry: 2000\n\nevent: hello\ndata: {}\n\n" + state
    assert heard == [
        *((tick / 2, state * (tick % 2 == 0) + call + beat * (tick % 30 == 0)) for tick in range(1, 62)),
        (31.0, state + call),
    ]
    readers.release(one)
    await publisher.aclose()


class Client:
    """Over ASGI; `stays` is for how long."""

    def __init__(self, stays: float = 3600.0) -> None:
        self.stays = stays
        self.got: list[dict[str, Any]] = []

    async def ask(self, endpoint: StreamEndpoint, method: str = "GET") -> None:
        await endpoint({"type": "http", "method": method, "headers": [], "client": None}, self.receive, self.send)

    async def receive(self) -> dict[str, Any]:
        await asyncio.sleep(self.stays)
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.got.append(message)

    @property
    def bodies(self) -> list[tuple[bool, bool]]:
        return [(bool(each["body"]), each["more_body"]) for each in self.got[1:]]


def streams_of(readers: Subscribers, allowed: Sequence[bool] = (True, True, False)) -> StreamEndpoint:
    """`allowed` is what is said when it is asked again."""
    answers, now = iter(allowed), asyncio.get_running_loop().time

    async def still_allowed(_: Any) -> bool:
        return next(answers)

    return StreamEndpoint(readers, Publisher(readers, Observed, lambda: False, now), still_allowed)


async def test_stream_is_begun_and_ended_as_asgi_wants_it() -> None:
    readers = Subscribers()
    streams, clients = streams_of(readers), [Client(1.2), *(Client() for _ in range(8))]
    asking = [asyncio.create_task(each.ask(streams)) for each in clients]
    await asyncio.sleep(1.1)
    assert [each.got[0]["status"] for each in clients] == [200] * 8 + [503]
    await asyncio.sleep(0.2)
    assert (clients[0].bodies, len(readers)) == ([(True, True)] * 3 + [(False, False)], 7)
    began = asyncio.get_running_loop().time()
    await streams.close_all()
    await asyncio.gather(*asking)
    assert asyncio.get_running_loop().time() - began < 0.1
    assert [each.bodies[-1] for each in clients[:8]] == [(False, False)] * 8
    late, head = Client(), Client()
    await late.ask(streams)
    await head.ask(streams, "HEAD")
    assert late.got[0]["status"] == 503
    assert (head.got[0]["status"], head.bodies) == (200, [(False, False)])
    assert len(readers) == 0


async def test_caller_is_checked_again_every_five_seconds() -> None:
    began = asyncio.get_running_loop().time()
    await Client().ask(streams_of(Subscribers()))
    assert asyncio.get_running_loop().time() - began == 15.0


async def test_client_that_has_stopped_reading_is_left_within_a_second() -> None:
    class Stuck(Client):
        async def send(self, message: Any) -> None:
            if message["type"] != "http.response.start":
                await asyncio.Event().wait()

    streams = streams_of(Subscribers())
    asking = asyncio.create_task(Stuck().ask(streams))
    await asyncio.sleep(1)
    began = asyncio.get_running_loop().time()
    await streams.close_all()
    await asking
    assert asyncio.get_running_loop().time() - began == pytest.approx(1.0, abs=0.1)
