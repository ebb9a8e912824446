"""Frames of a WebSocket are read in slices, and no faster than a leaky bucket allows: by the clock of the loop."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState
from wsproto import ConnectionType, WSConnection
from wsproto.events import CloseConnection, Event, Message, Ping, Pong, Request

from server.transport.http.bodies import UnfinishedMessages
from server.transport.http.connection import Connections
from server.transport.websocket.connection import WebSocketConnection
from session.resilience.lru import Lru
from tests.support.virtual_time import running_clock
from tests.support.written import Written

pytestmark = pytest.mark.virtual_time


class Wire(Written):
    """A connection from an address, which notes whether it is read."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address, self.is_read = address, True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": (self.address, 1), "sockname": ("127.0.0.1", 1)}.get(name, default)

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True


class Client:
    """`heard` are the times at which the application was given a message."""

    def __init__(self, buckets: Lru[str, float], address: str = "10.0.0.1", unfinished: int = 4096) -> None:
        self.heard: list[float] = []
        self.clock = running_clock()
        self.began = round(self.clock(), 6)
        self.frames = WSConnection(ConnectionType.CLIENT)
        self.wire = Wire(address)
        config = uvicorn.Config(self._app, interface="asgi3", lifespan="off", log_config=None, ws_ping_interval=None)
        config.load()
        self.wire.protocol = self.protocol = WebSocketConnection(
            config,
            ServerState(),
            {},
            all_connections=Connections(9),
            unfinished=UnfinishedMessages(unfinished),
            buckets=buckets,
        )
        self.protocol.connection_made(self.wire)
        self.say(Request(host="h", target="/ws"))

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] == "websocket.receive":
            self.heard.append(round(self.clock(), 6))

    def say(self, *events: Event) -> None:
        self.protocol.data_received(b"".join(self.frames.send(event) for event in events))

    def events(self) -> list[Event]:
        said, self.wire.written = self.wire.written, b""
        self.frames.receive_data(said)
        return list(self.frames.events())

    async def opened(self) -> Client:
        await asyncio.sleep(0.0)
        while not self.wire.written:
            await asyncio.sleep(0.0)
        self.events()
        return self


async def settled() -> None:
    """Lets everything happen that takes no time."""
    for _ in range(20):
        await asyncio.sleep(0.0)


async def test_messages_and_other_frames_are_read_at_the_rate_of_a_leaky_bucket() -> None:
    """Four seconds of them at once: 2000 messages, of 2 ms each, or 400 other frames, of 10 ms. A new connection from the
    same address goes on with the fullest bucket."""
    buckets: Lru[str, float] = Lru(9)
    own = await Client(buckets).opened()
    own.say(*[Message("1")] * 2000)
    while len(own.heard) < 2000:
        await asyncio.sleep(0.0)
    await settled()
    assert (set(own.heard), own.wire.is_read) == ({own.began}, True)
    own.say(Message("1"))
    await settled()
    own.say(Message("1"))
    assert (len(own.heard), own.wire.is_read) == (2001, False)
    await asyncio.sleep(0.0019)
    assert len(own.heard) == 2001
    await asyncio.sleep(0.0002)
    await settled()
    assert len(own.heard) == 2002
    await asyncio.sleep(1.0021)
    assert own.wire.is_read
    again, other = await Client(buckets).opened(), await Client(buckets, "10.0.0.2").opened()
    for count, expected in ((499, True), (4, False)):
        for each in (again, other):
            each.say(*[Message("1")] * count)
        while len(other.heard) < count:
            await asyncio.sleep(0.0)
        await settled()
        assert (again.wire.is_read, other.wire.is_read) == (expected, True)
    own.say(Message("1"))
    assert buckets.peek("10.0.0.1") == pytest.approx(own.clock() + 4.0, abs=0.01), "a lower one changes nothing"


async def test_control_frames_and_pieces_cost_five_times_as_much_as_messages() -> None:
    frames: list[Event] = [Ping(b""), Pong(b""), Message("", message_finished=False)]
    for frame in frames:
        own = await Client(Lru(9)).opened()
        own.say(*[frame] * 400)
        await settled()
        assert own.wire.is_read, frame
        own.say(frame)
        await settled()
        assert not own.wire.is_read, frame
        own.say(Message("1"))
        await asyncio.sleep(0.0099)
        assert own.heard == []
        await asyncio.sleep(0.0002)
        await settled()
        assert len(own.heard) == 1


async def test_message_comes_in_so_many_pieces_and_bytes_and_a_ping_waits_for_its_reader() -> None:
    own = await Client(Lru(9), unfinished=10).opened()
    piece = Message("", message_finished=False)
    own.say(*[piece] * 4095, Message("1"))
    await asyncio.sleep(60.0)
    assert (len(own.heard), own.events()) == (1, [])
    own.protocol.pause_writing()
    own.say(Ping(b"first"), Ping(b"last"))
    await asyncio.sleep(1.0)
    assert own.events() == []
    own.protocol.resume_writing()
    (pong,) = own.events()
    assert isinstance(pong, Pong)
    assert pong.payload == b"last"
    own.say(Message("x" * 5, message_finished=False), Message("x" * 9))
    own.say(Message("x" * 5, message_finished=False), Message(""))
    await asyncio.sleep(1.0)
    assert len(own.heard) == 3
    other = await Client(Lru(9)).opened()
    other.say(*[piece] * 4096, Message("1"))
    own.say(Message("x" * 6, message_finished=False))
    await asyncio.sleep(60.0)
    slow = await Client(Lru(9)).opened()
    slow.protocol.time_out()
    for client, code in ((own, 1013), (other, 1008), (slow, 1008)):
        (closed,) = client.events()
        assert isinstance(closed, CloseConnection)
        assert (closed.code, client.wire.closed, len(other.heard)) == (code, True, 0)
