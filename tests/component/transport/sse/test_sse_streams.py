"""SSE streams over a real socket, with an application behind them that only waits and echoes."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import pytest
import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel.server import Server
from prometheus_client import Gauge

from server.transport.http import sse as streams
from server.transport.http import streams as messages
from server.transport.http.bodies import Admission, Bodies
from server.transport.http.slots import Subscriptions
from server.transport.http.sse import IDLE_SECONDS, UNUSED_SECONDS, SseStreams
from tests.support.cases import cases
from tests.support.clocks import HandClock

MOST_BYTES = 4096
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@dataclass
class Edge:
    """What serves; `waiting` and `cancelled` tell of calls of the tool `wait`."""

    port: int
    streams: SseStreams
    gauge: Gauge
    clock: HandClock
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)


class OpenStream:
    """A client by hand: a socket with the stream, another for each POST."""

    def __init__(
        self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, principal: str | None = None
    ) -> None:
        self._principal = {} if principal is None else {"X-Principal": principal}
        self._port = port
        self._reader = reader
        self.writer = writer
        self.head = b""
        self.path = ""

    async def event(self) -> tuple[str, str]:
        """The name and data of the next event or comment."""
        async with asyncio.timeout(30):
            await self._reader.readline()  # the chunk's length
            first = (await self._reader.readline()).decode().strip()
            if first.startswith(":"):
                await self._reader.readline()
                await self._reader.readline()
                return "comment", first
            data = (await self._reader.readline()).decode().removeprefix("data: ").strip()
            await self._reader.readline()
            await self._reader.readline()
            return first.removeprefix("event: "), data

    async def begin(self) -> None:
        async with asyncio.timeout(30):
            self.head = await self._reader.readuntil(b"\r\n\r\n")
        _, self.path = await self.event()

    async def last_chunk(self) -> bytes:
        async with asyncio.timeout(30):
            return await self._reader.readuntil(b"0\r\n\r\n")

    async def post(self, body: object, **headers: str) -> tuple[int, bytes]:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {
            "Content-Type": "application/json",
            **self._principal,
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        return await request(self._port, "POST", self.path, content, given)

    async def asked(self, message: dict[str, Any]) -> Any:
        assert (await self.post(message))[0] == 202
        _, data = await self.event()
        return json.loads(data)


async def request(port: int, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Any:
    """(status, body) of one request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    async with asyncio.timeout(30):
        answer = await reader.read()
    writer.close()
    head, _, content = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), content


@pytest.fixture
async def edge() -> AsyncIterator[Edge]:
    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == "wait":
            serving.waiting.set()
            try:
                await asyncio.Event().wait()
            finally:
                serving.cancelled.set()
        if params.name == "who":
            kept = ctx.session.client_params
            known = kept.capabilities.model_dump(exclude_none=True)
            text = f"{kept.client_info.name} {kept.client_info.description} {known}"
            return types.CallToolResult(content=[types.TextContent(text=text)])
        return types.CallToolResult(content=[types.TextContent(text=(params.arguments or {})["say"])])

    server: Server[Any] = Server("edge", on_call_tool=call_tool)
    gauge = Gauge("streams", "Open streams.", registry=None)
    clock = HandClock()
    admission = Admission(Subscriptions())
    own = SseStreams(server, 2, Bodies(MOST_BYTES), admission, gauge, clock)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if name := dict(scope["headers"]).get(b"x-principal"):
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=name.decode(), scopes=[]))
        await (own.open if scope["path"] == "/sse" else own.post)(scope, receive, send)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, lifespan="off", log_level="error", timeout_graceful_shutdown=1)
        http = uvicorn.Server(config)
        http.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        serving = Edge(listener.getsockname()[1], own, gauge, clock)
        task = asyncio.create_task(http.serve([listener]))
        try:
            yield serving
        finally:
            await own.close_all()
            http.should_exit = True
            async with asyncio.timeout(30):
                await task


@asynccontextmanager
async def opened(edge: Edge, principal: str | None = None) -> AsyncIterator[OpenStream]:
    """A stream that has been greeted and has been told where to post."""
    reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
    said = f"X-Principal: {principal}\r\n" if principal else ""
    writer.write(f"GET /sse HTTP/1.1\r\nHost: x\r\n{said}\r\n".encode())
    stream = OpenStream(edge.port, reader, writer, principal)
    try:
        await stream.begin()
        yield stream
    finally:
        writer.close()


async def until(condition: Any) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


def open_streams(edge: Edge) -> float:
    return edge.gauge._value.get()


def call(name: str, number: int, **arguments: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


async def test_stream_announces_its_post_address_and_answers_posted_messages(edge: Edge) -> None:
    """An endpoint event, a 202 per message and answers as events are the whole transport."""
    async with opened(edge) as stream:
        assert b"content-type: text/event-stream" in stream.head.lower()
        assert stream.path.startswith("/messages/?session_id=")
        assert (await stream.asked(INITIALIZE))["result"]["serverInfo"]["name"] == "edge"
        said = "a line\nanother\r\nand \u2028 ベルセルク"
        answer = await stream.asked(call("echo", 2, say=said))
        assert answer["result"]["content"][0]["text"] == said, "no line end of a text ends an event"


async def test_answers_are_sent_as_they_become_ready(edge: Edge) -> None:
    """A slow call delays no other call of its stream."""
    async with opened(edge) as stream:
        await stream.asked(INITIALIZE)
        assert (await stream.post(call("wait", 2)))[0] == 202
        assert (await stream.asked(call("echo", 3, say="first")))["id"] == 3


async def test_client_disconnect_cancels_its_calls(edge: Edge) -> None:
    """Their answers could no longer be delivered."""
    async with opened(edge) as stream:
        await stream.asked(INITIALIZE)
        await stream.post(call("wait", 2))
        await edge.waiting.wait()
        assert open_streams(edge) == 1
    async with asyncio.timeout(30):
        await edge.cancelled.wait()
    await until(lambda: open_streams(edge) == 0)


@cases(
    ("body", "headers", "status"),
    [
        (b"{}", {"Content_Type": "text/plain"}, 400),
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b'{"secret": 1}', {}, 400),
        (b" " * (MOST_BYTES + 1), {}, 413),
    ],
)
async def test_malformed_message_is_refused_and_the_stream_goes_on(
    body: bytes, headers: dict[str, str], status: int, edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the answer nor the log repeats its content."""
    async with opened(edge) as stream:
        await stream.asked(INITIALIZE)
        answer = await stream.post(body, **headers)
        assert answer[0] == status
        assert b"secret" not in answer[1]
        assert "secret" not in caplog.text
        assert (await stream.asked(call("echo", 2, say="still here")))["id"] == 2


async def test_get_on_the_message_address_is_405(edge: Edge) -> None:
    """The session does not matter."""
    assert (await request(edge.port, "GET", "/messages/?session_id=x"))[0] == 405


async def test_head_request_opens_no_stream(edge: Edge) -> None:
    """The probe gets the headers of a stream only."""
    assert await request(edge.port, "HEAD", "/sse") == (200, b"")
    assert open_streams(edge) == 0


async def test_stream_beyond_the_limit_gets_503_until_one_ends(edge: Edge) -> None:
    """The freed slot is used again."""
    async with opened(edge):
        async with opened(edge):
            assert (await request(edge.port, "GET", "/sse"))[0] == 503
        await until(lambda: open_streams(edge) == 1)
        async with opened(edge):
            assert open_streams(edge) == 2


async def test_post_beyond_the_limit_of_unread_messages_gets_503(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    """The messages waiting for one stream are bounded."""
    monkeypatch.setattr(messages, "MOST_UNREAD", 0)
    async with opened(edge) as stream:
        assert (await stream.post(INITIALIZE))[0] == 503


async def test_silent_stream_sends_ping_comments(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxies close silent connections."""
    monkeypatch.setattr(streams, "PING_SECONDS", 0.02)
    async with opened(edge) as stream:
        assert (await stream.event())[0] == "comment"


async def test_unused_stream_yields_to_a_newcomer_after_its_timeout(edge: Edge) -> None:
    """It yields only when no slot is free, and a stream without any posted message yields first."""
    async with opened(edge) as used, opened(edge) as unused:
        await used.asked(INITIALIZE)
        edge.clock.advance(UNUSED_SECONDS)
        async with opened(edge) as newcomer:
            assert (await newcomer.asked(INITIALIZE))["id"] == 1
            await unused.last_chunk()
            assert (await unused.post(INITIALIZE))[0] == 404
            assert (await used.asked(call("echo", 2, say="still here")))["id"] == 2
            assert (await request(edge.port, "GET", "/sse"))[0] == 503


async def test_longest_idle_stream_yields_to_a_newcomer(edge: Edge) -> None:
    """It is the stream whose last use is the longest ago."""
    async with opened(edge) as first, opened(edge) as second:
        await first.asked(INITIALIZE)
        await second.asked(INITIALIZE)
        edge.clock.advance(IDLE_SECONDS)
        await first.asked(call("echo", 2, say="once more"))
        async with opened(edge):
            await second.last_chunk()
            assert (await first.asked(call("echo", 3, say="still here")))["id"] == 3


@pytest.mark.parametrize("holder", ["a", None])
async def test_holder_of_every_stream_yields_one_to_another_principal(edge: Edge, holder: str | None) -> None:
    """The least recently used yields at once, but not to its own holder; each keeps a fair share."""
    async with opened(edge, holder) as first, opened(edge, holder) as second:
        for stream in (first, second):
            await stream.asked(INITIALIZE)
            edge.clock.advance(1)
        own = {"X-Principal": holder} if holder else {}
        assert (await request(edge.port, "GET", "/sse", headers=own))[0] == 503
        await first.asked(call("echo", 2, say="used again"))
        async with opened(edge, "b") as newcomer:
            await second.last_chunk()
            assert (await newcomer.asked(INITIALIZE))["id"] == 1
            assert (await first.asked(call("echo", 3, say="still here")))["id"] == 3
            for principal in ("a", "b", "c"):
                assert (await request(edge.port, "GET", "/sse", headers={"X-Principal": principal}))[0] == 503


async def test_head_request_ends_no_stream_when_all_slots_are_taken(edge: Edge) -> None:
    """It opens none either."""
    async with opened(edge, "a") as first, opened(edge, "a") as second:
        edge.clock.advance(IDLE_SECONDS)
        assert (await request(edge.port, "HEAD", "/sse", headers={"X-Principal": "b"}))[0] == 200
        for stream in (first, second):
            assert (await stream.asked(INITIALIZE))["id"] == 1


async def test_request_id_is_refused_while_a_request_with_it_is_under_way(edge: Edge) -> None:
    """It is free again after the answer or a cancellation; the number 1 and the text "1" are two ids."""
    async with opened(edge) as stream:
        await stream.asked(INITIALIZE)
        assert (await stream.post(call("wait", 7)))[0] == 202
        await edge.waiting.wait()
        assert (await stream.post(call("echo", 7, say="twice")))[0] == 400
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        assert (await stream.post(cancelled))[0] == 202
        async with asyncio.timeout(30):
            await edge.cancelled.wait()
        assert (await stream.asked(call("echo", 7, say="again")))["result"]["content"][0]["text"] == "again"
        assert (await stream.asked(call("echo", 7, say="once more")))["id"] == 7
        assert (await stream.post(call("wait", 7)))[0] == 202
        assert (await stream.asked({**call("echo", 0, say="as text"), "id": "7"}))["id"] == "7"


async def test_requests_under_way_on_a_stream_are_limited(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request holds a task."""
    monkeypatch.setattr(messages, "MOST_UNREAD", 2)
    async with opened(edge) as stream:
        await stream.asked(INITIALIZE)
        assert [(await stream.post(call("wait", number)))[0] for number in (2, 3, 4)] == [202, 202, 503]


async def test_client_name_is_kept_truncated_and_its_other_data_dropped(edge: Edge) -> None:
    """A stream may last for days, and its opening message would be kept as long."""
    fat = {"experimental": {"x": {"y": "z" * 1000}}}
    client = {"name": "n" * 1000, "version": "1", "description": "d" * 1000}
    message = {**INITIALIZE, "params": {"protocolVersion": "2025-06-18", "capabilities": fat, "clientInfo": client}}
    async with opened(edge) as stream:
        assert (await stream.asked(message))["result"]["protocolVersion"] == "2025-06-18"
        assert (await stream.asked(call("who", 2)))["result"]["content"][0]["text"] == f"{'n' * 128} None {{}}"


async def test_close_all_ends_every_stream_properly_and_refuses_new_ones(edge: Edge) -> None:
    """The last chunk is sent, and calls under way are told that the connection closes."""
    async with opened(edge) as stream:
        await stream.asked(INITIALIZE)
        await stream.post(call("wait", 2))
        await edge.waiting.wait()
        await edge.streams.close_all()
        await stream.last_chunk()
        assert edge.cancelled.is_set()
        assert (await request(edge.port, "GET", "/sse"))[0] == 503


async def test_message_still_being_posted_during_close_all_is_refused(edge: Edge) -> None:
    """Its stream ended while its body was arriving, so it would get no answer."""
    async with opened(edge) as stream:
        await stream.asked(INITIALIZE)
        content = json.dumps(call("who", 2)).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
        head = f"POST {stream.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
        writer.write(f"{head}\r\n\r\n".encode() + content[:10])
        held = edge.streams.bodies._held
        await until(lambda: held.total() == 10)
        await edge.streams.close_all()
        writer.write(content[10:])
        async with asyncio.timeout(30):
            assert b" 404 " in await reader.readline()
        writer.close()
