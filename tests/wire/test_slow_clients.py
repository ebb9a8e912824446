"""Clients that are slow, silent or never read, against a running server whose patience is short: what becomes of them, and
that a healthy one does not notice."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support import raw
from tests.support.cases import cases
from tests.support.fuzzing import encoded
from tests.support.process import LISTENING, Process, run, until
from tests.support.process import serving as patient
from tests.support.sse import SseClient
from tests.support.websocket import websocket

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE = 1.5
WAIT = 30.0
ROOM = 80
KNOWN = raw.call("get_manga_details", {"title_id": "manga-002001"})
LARGE = raw.call("search_manga_catalog", {"query": "high school love story", "max_results": 20})
SHORT = f"""
import sys
from server.transport.http import streamable as mcp_endpoint
from server.transport.http import connection as connections
connections.REQUEST_SECONDS = connections.ANSWER_SECONDS = {PATIENCE}
mcp_endpoint.MOST_SESSIONS = 20
from server.commands import serve as process
process.MOST_REQUESTS = {ROOM - 20}
from server.commands.cli import main
sys.exit(main(["serve"]))
"""
"""The server as it is, but for numbers that a test cannot wait for or fill."""


@asynccontextmanager
async def serving(before: str = "", **settings: object) -> AsyncIterator[Process]:
    """`before` is Python that runs before the server."""
    given = {"rate_limit": "off", "max_sse_sessions": 20, **settings}
    async with run(program=(sys.executable, "-c", before + SHORT), **given) as server:
        server.port = int((await server.said(LISTENING)).group(1))
        await healthy(server)
        yield server
        assert "Traceback" not in server.log
        assert " ERROR " not in server.log


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[Process]:
    async with serving() as own:
        yield own


async def healthy(server: Process) -> None:
    answer = await raw.post_2026(server.port, KNOWN)
    assert answer["result"]["structuredContent"]["title_id"] == "manga-002001"


async def begun(server: Process, stack: AsyncExitStack, *pieces: bytes) -> raw.Connection:
    connection = await stack.enter_async_context(raw.Connection.to(server.port))
    for piece in pieces:
        await connection.send(piece)
    return connection


async def dripped(connection: raw.Connection, piece: bytes) -> bytes:
    """Everything that is said to a client that sends a piece now and then, until it is hung up on."""

    async def drip() -> None:
        while piece:
            await connection.send(piece)
            await asyncio.sleep(PATIENCE / 20)

    dripping = asyncio.create_task(drip())
    try:
        async with asyncio.timeout(WAIT):
            return await connection.reader.read()
    except ConnectionResetError:
        return b"reset"
    finally:
        dripping.cancel()
        await asyncio.gather(dripping, return_exceptions=True)


async def test_incomplete_requests_are_timed_out_while_others_are_served(server: Process) -> None:
    """Whatever part of them is missing and at whichever door, however steadily a byte comes now and then (Slowloris); other
    clients are answered all the while."""
    async with AsyncExitStack() as stack:
        stream = await stack.enter_async_context(SseClient.to(server.port))
        opened = await raw.ask(server.port, "POST", "/mcp", raw.INITIALIZE)
        session = {**raw.BOTH, "mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": raw.VERSION_2025}
        await raw.ask(server.port, "POST", "/mcp", raw.INITIALIZED, session)
        modern = raw.in_2026(raw.message("ping"))[1]
        starts = {
            "nothing": (b"", b""),
            "half a first line": (b"GET /heal", b"t"),
            "headers without end": (b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n", b"a: b\r\n"),
            "a second request": (raw.head("GET", "/healthz") + b"GET ", b"x"),
            "half a body": (raw.head("POST", "/mcp", modern, 50_000), b" "),
            "half a body in a session": (raw.head("POST", "/mcp", session, 50_000), b" "),
            "half a body that opens one": (raw.head("POST", "/mcp", raw.BOTH, 50_000), b" "),
            "half a body for a stream": (raw.head("POST", stream.messages, raw.BOTH, 50_000), b" "),
            "a body for nobody": (raw.head("POST", "/nothing", raw.BOTH, 50_000), b" "),
            "chunks without end": (raw.head("POST", "/mcp", {**modern, "transfer-encoding": "chunked"}), b"1\r\n \r\n"),
            "a body that waits": (raw.head("POST", "/mcp", {**modern, "expect": "100-continue"}, 50_000), b""),
        }
        connections = {name: await begun(server, stack, first) for name, (first, _) in starts.items()}
        ends = asyncio.gather(*(dripped(connections[name], piece) for name, (_, piece) in starts.items()))
        answered = 0
        while not ends.done():
            await healthy(server)
            answered += 1
        said = dict(zip(starts, await ends, strict=True))
        assert answered > 5
        assert said.pop("nothing") == b""
        assert said.pop("a body for nobody").startswith(b"HTTP/1.1 404")
        assert said.pop("a second request").startswith(b"HTTP/1.1 200")
        for name, words in said.items():
            assert b"HTTP/1.1 408 " in words, (name, words)
        # What was open and well stays so.
        assert not (await stream.call("get_manga_details", {"title_id": "manga-002001"}))["isError"]
        assert (await raw.ask(server.port, "POST", "/mcp", raw.message("tools/list"), session)).status == 200
        assert (await raw.ask(server.port, "DELETE", "/mcp", headers=session)).status == 200


def files_of(server: Process) -> int:
    return sum(1 for _ in Path(f"/proc/{server.pid}/fd").iterdir())


def deaf(port: int) -> socket.socket:
    """A client that will not read."""
    own = socket.socket()
    own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    own.connect(("127.0.0.1", port))
    own.setblocking(False)
    return own


async def test_connections_that_read_no_answers_are_closed(server: Process) -> None:
    """On a stream and on a keep-alive connection the client is dropped, and its slot is free again."""
    async with raw.Connection.to(server.port) as stream, raw.Connection.to(server.port) as posts:
        stream.writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await stream.ask("GET", "/sse", headers={"accept": "text/event-stream"})
        await stream.begin()
        endpoint = (await stream.chunk() or b"").decode().split("data: ")[1].strip()
        stream.writer.transport.pause_reading()
        for first in (raw.INITIALIZE, raw.INITIALIZED):
            await posts.request("POST", endpoint, first)
        files = files_of(server)
        pipelining = deaf(server.port)
        loop = asyncio.get_running_loop()
        body, headers = raw.in_2026(LARGE)
        many = (raw.head("POST", "/mcp", headers, len(encoded(body))) + encoded(body)) * 3000
        flood = asyncio.create_task(loop.sock_sendall(pipelining, many))

        async def stream_is_gone() -> bool:
            for _ in range(20):
                if (await posts.request("POST", endpoint, LARGE)).status == 404:
                    return True
            return False

        await until(stream_is_gone, WAIT, "the stream that nobody reads is gone")
        await until(lambda: files_of(server) < files, WAIT, "both connections are closed")
        await healthy(server)
        flood.cancel()
        await asyncio.gather(flood, return_exceptions=True)
        pipelining.close()


@cases("way", ["SSE", "WebSocket"])
async def test_stopping_server_closes_connections_that_are_not_read_and_says_so_in_one_line(way: str) -> None:
    async with patient(rate_limit="off", websocket="on") as server, AsyncExitStack() as stack:
        posts, lists = await begun(server, stack), [raw.message("tools/list", number=number) for number in range(200)]
        if way == "SSE":
            stream = await stack.enter_async_context(SseClient.to(server.port))
            stream.stream.writer.transport.pause_reading()  # type: ignore[attr-defined]
            for each in lists:
                await posts.request("POST", stream.messages, each)
        else:
            client = await (await stack.enter_async_context(websocket(server.port))).introduced()
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            for each in lists:
                client.say(each)

        async def is_unread() -> bool:
            """Of the two connections only this one has to be kept."""
            return b"manga_connections_held 1.0" in (await posts.request("GET", "/metrics")).body

        await until(is_unread, WAIT, "the server waits for the client to read")
        said = len(server.lines)
        server.signal(signal.SIGTERM)
        assert await server.ended(5.0) == 0
    assert [line.rpartition(" server.")[2] for line in server.lines[said:]] == [
        "transport.http.connection closed connections whose clients do not read: 1",
        "commands.serve stopped",
    ]


async def test_idle_connections_do_not_block_new_clients(server: Process) -> None:
    """There are far more than fit: the newest are admitted, and busy ones stay."""
    async with SseClient.to(server.port) as stream, AsyncExitStack() as stack:
        slow = [await begun(server, stack, b"GET /healthz") for _ in range(2 * ROOM)]
        await healthy(server)
        assert sum(not each.reader.at_eof() and each.reader.exception() is None for each in slow) <= ROOM
        for _ in range(5):
            slow += [await begun(server, stack) for _ in range(ROOM // 4)]
            await healthy(server)
        assert not (await stream.call("get_manga_details", {"title_id": "manga-002001"}))["isError"]
        assert files_of(server) < ROOM + 60


async def test_server_full_of_sessions_still_serves_stateless_calls_and_streams(server: Process) -> None:
    """Further sessions of the 2025 era get 503."""
    statuses = [(await raw.ask(server.port, "POST", "/mcp", raw.INITIALIZE)).status for _ in range(25)]
    assert statuses == [200] * 20 + [503] * 5
    await healthy(server)
    async with SseClient.to(server.port) as stream:
        assert not (await stream.call("get_manga_details", {"title_id": "manga-002001"}))["isError"]


@pytest.mark.slow  # ten seconds
@cases("limit", [128, 4096])
async def test_low_limit_on_open_files_is_logged_and_respected(limit: int) -> None:
    """Without a free file descriptor a server could not accept any connection."""
    lower = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))"
    async with serving(lower) as server, AsyncExitStack() as stack:
        told = "limit on open files" in server.log
        assert told == (limit < ROOM + 256)
        for _ in range(200):
            await begun(server, stack, b"GET /healthz")
        await healthy(server)
        assert "out of system resource" not in server.log


async def test_server_full_of_streams_still_answers_its_probes() -> None:
    """Every slot within the file limit is taken: new clients are refused, and open streams stay."""
    lower = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))\n"
    async with serving(lower, max_sse_sessions=1000) as server, AsyncExitStack() as stack:
        streams = [await begun(server, stack, raw.head("GET", "/sse", {"accept": "text/event-stream"})) for _ in range(64)]
        for each in streams:
            assert (await each.begin()).status == 200
        for _ in range(20):  # whoever says nothing keeps no probe out
            await begun(server, stack, b"GET /healthz")
        for path, status in (("/healthz", 200), ("/readyz", 200), ("/metrics", 200), ("/sse", 503), ("/ops", 503)):
            answer = await raw.ask(server.port, "GET", path)
            assert answer.status == status, path
        assert answer.headers["retry-after"] == "1"
        told = (await raw.ask(server.port, "GET", "/metrics")).body.decode()
        assert any(f"manga_connections_held {held}.0" in told for held in (64, 65)), "who asks is one"
        assert "manga_connections_most 64.0" in told
        body, headers = raw.in_2026(KNOWN)
        assert (await raw.ask(server.port, "POST", "/mcp", body, headers)).status == 503
