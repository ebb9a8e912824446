"""WebSocket clients that are slow, silent or gone: the bounds of HTTP hold, by the test's clock."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import mcp_types as types
import pytest
import uvicorn
from mcp.server.lowlevel.server import Server
from prometheus_client import Gauge
from wsproto.events import CloseConnection, Event, Message, Ping, Pong

from server.identity.request_metadata import TrustStated
from server.transport.http.bodies import Admission, Bodies, UnfinishedMessages
from server.transport.http.connection import ANSWER_SECONDS, REQUEST_SECONDS, Connections
from server.transport.http.slots import Subscriptions
from server.transport.websocket.connection import (
    BURST_SECONDS,
    FRAME_SECONDS,
    MESSAGE_SECONDS,
    SLICE_BYTES,
    WebSocketConnection,
)
from server.transport.websocket.websockets import WebSockets
from session.resilience.lru import Lru
from tests.support.clocks import HandClock
from tests.support.websocket import SECONDS, WebSocket, call, request, websocket

LARGE = "x" * 2**20


class Heard(Connections):
    """Tells when a client does not take what is written, and when a message was begun."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__(9, clock)
        self.unread_by_one, self.begun_by_one = asyncio.Event(), asyncio.Event()

    def mark_unread(self, connection: Any) -> None:
        super().mark_unread(connection)
        self.unread_by_one.set()

    def open(self) -> list[Any]:
        return [each.transport for each in self._open]

    def mark_incomplete(self, connection: Any) -> None:
        super().mark_incomplete(connection)
        if connection in self._open:
            self.begun_by_one.set()


@dataclass
class Edge:
    clock: HandClock
    connections: Heard
    sockets: WebSockets
    port: int = 0
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def edge(**options: Any) -> AsyncIterator[Edge]:
    """A server whose tool `large` answers a megabyte, and whose tool `wait` waits for ever."""

    async def call_tool(ctx: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == "wait":
            own.waiting.set()
            try:
                await asyncio.Event().wait()
            finally:
                own.over.set()
        return types.CallToolResult(content=[types.TextContent(text=LARGE)])

    server: Server[object] = Server("edge", on_call_tool=call_tool)
    gauge, clock = Gauge("sockets", "Open.", registry=None), HandClock()
    admission, proving = Admission(Subscriptions()), TrustStated().admit
    sockets = WebSockets(server, 9, Bodies(4096), admission, gauge, admit_bearer=proving, most_bytes=4096)
    own = Edge(clock, Heard(clock), sockets)
    upgraded = partial(
        WebSocketConnection, all_connections=own.connections, unfinished=UnfinishedMessages(4096), buckets=Lru(9)
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own.port = listener.getsockname()[1]
        config = uvicorn.Config(sockets.wrap(sockets), ws=upgraded, lifespan="off", log_level="error", **options)
        http = uvicorn.Server(config)
        http.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.create_task(http.serve([listener]))
        try:
            yield own
        finally:
            await sockets.close_all()
            http.should_exit = True
            await asyncio.wait_for(task, SECONDS)


async def waiting(own: Edge, client: WebSocket) -> None:
    """With a call under way, which its end will tell of."""
    await client.introduced()
    client.say(call(1, "wait"))
    await asyncio.wait_for(own.waiting.wait(), SECONDS)


async def test_message_that_was_begun_has_to_be_whole_within_the_request_timeout() -> None:
    async with edge() as own, websocket(own.port) as client:
        await waiting(own, client)
        own.connections.begun_by_one.clear()
        client.write(Message('{"jsonrpc"', message_finished=False))
        await asyncio.wait_for(own.connections.begun_by_one.wait(), SECONDS)
        own.clock.advance(REQUEST_SECONDS - 1)
        own.connections.close_overdue()
        assert not own.over.is_set()
        own.clock.advance(2)
        own.connections.close_overdue()
        assert await client.closed() == 1008
        await asyncio.wait_for(own.over.wait(), SECONDS)


async def test_silent_websocket_client_stays_connected() -> None:
    """As on an SSE stream, it only has to answer pings."""
    async with edge() as own, websocket(own.port) as client:
        await client.introduced()
        own.clock.advance(10 * (REQUEST_SECONDS + ANSWER_SECONDS))
        own.connections.close_overdue()
        client.say(call(1, "wait"))
        await asyncio.wait_for(own.waiting.wait(), SECONDS)


async def test_websocket_client_that_reads_nothing_is_dropped_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Its calls are cancelled, and clients cannot fill the log."""
    async with edge() as own, websocket(own.port) as client:
        await waiting(own, client)
        for number in range(2, 32):
            client.say(call(number, "large"))
        await asyncio.wait_for(own.connections.unread_by_one.wait(), SECONDS)
        own.clock.advance(ANSWER_SECONDS + 1)
        own.connections.close_overdue()
        await asyncio.wait_for(own.over.wait(), SECONDS)
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []
    assert len(own.sockets._slots) == 0


async def test_unread_pongs_do_not_pile_up() -> None:
    """A client that reads again gets the answer to its last ping alone."""
    async with edge() as own, websocket(own.port) as client:
        (served,) = own.connections.open()
        served.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        await client.introduced()
        client.writer.transport.pause_reading()
        client.say(call(1, "large"))
        await asyncio.wait_for(own.connections.unread_by_one.wait(), SECONDS)
        client.writer.write(client.frames.send(Ping(b"x" * 125)) * 200)
        client.write(Ping(b"last"))
        client.say(call("after", "wait"))
        await asyncio.wait_for(own.waiting.wait(), SECONDS)
        client.writer.transport.resume_reading()
        while not isinstance(event := await client.next(), Pong):
            pass
        assert event.payload == b"last"


FLOODS: dict[str, tuple[Event, type[Event], float]] = {
    "pings": (Ping(b""), Pong, FRAME_SECONDS),
    "messages": (Message("1"), Message, MESSAGE_SECONDS),
}


async def test_flood_of_frames_is_read_at_a_bounded_rate_and_others_are_served() -> None:
    """Of hundreds of thousands of frames a burst and a fixed rate are answered."""
    for frame, answer, seconds in FLOODS.values():
        async with edge() as own, websocket(own.port) as greedy, websocket(own.port) as other:
            await other.introduced()
            await greedy.introduced()
            began = time.monotonic()
            greedy.writer.write(greedy.frames.send(frame) * 200_000)
            for number in range(20):
                assert (await other.asked(request(number, "ping")))["result"] == {}
            answered = 0
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    while isinstance(await greedy.next(), answer):
                        answered += 1
            assert answered >= BURST_SECONDS / seconds / 2
            most = (BURST_SECONDS + time.monotonic() - began) / seconds + SLICE_BYTES / 6
            assert answered <= most


async def test_client_that_connects_again_goes_on_with_its_empty_bucket() -> None:
    """Of pings over one connection after the other no more are answered than over one."""
    answered, began = 0, time.monotonic()
    async with edge() as own:
        for _ in range(4):
            async with websocket(own.port) as greedy:
                await greedy.introduced()
                greedy.writer.write(greedy.frames.send(Ping(b"")) * 20_000)
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.5):
                        while isinstance(await greedy.next(), Pong):
                            answered += 1
        slices = 4 * SLICE_BYTES / 6
        assert answered <= (BURST_SECONDS + time.monotonic() - began) / FRAME_SECONDS + slices
        async with websocket(own.port) as later:
            await later.introduced()


async def test_client_that_answers_no_ping_is_closed_with_1011() -> None:
    """A client that answers stays connected."""
    async with edge(ws_ping_interval=0.05, ws_ping_timeout=3.0) as own, websocket(own.port) as client:
        await waiting(own, client)
        for _ in range(3):
            asked = await client.next()
            assert isinstance(asked, Ping), asked
            client.write(asked.response())
        assert not own.over.is_set()
        said = [await client.next()]
        while not isinstance(said[-1], CloseConnection):
            said.append(await client.next())
        assert said[-1].code == 1011
        await asyncio.wait_for(own.over.wait(), SECONDS)
