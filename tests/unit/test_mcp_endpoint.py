"""/mcp as an ASGI application, with clients that no socket can be told to be: such as one that never takes its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.server.lowlevel.server import Server
from prometheus_client import Gauge

from server.http import mcp_endpoint
from server.http.bodies import Bodies
from server.http.mcp_endpoint import McpEndpoint
from server.http.streams import SseStreams
from tests.support.raw import BOTH, INITIALIZE, VERSION_2025, message

MOST_BYTES = 4096


@asynccontextmanager
async def serving() -> AsyncIterator[McpEndpoint]:
    server: Server[Any] = Server("edge")
    bodies = Bodies(MOST_BYTES)
    streams = SseStreams(server, 1, bodies, Gauge("s", "s", registry=None))
    own = McpEndpoint(server, streams, bodies, MOST_BYTES)
    async with own.sessions.run():
        yield own


class Client:
    """Asks once. `takes` is set for a client that takes what it is sent."""

    def __init__(self, endpoint: McpEndpoint, body: bytes, headers: dict[str, str] | None = None) -> None:
        self._endpoint = endpoint
        self._body = body
        self._headers = {**BOTH, "host": "127.0.0.1", **(headers or {})}
        self.takes = asyncio.Event()
        self.was_sent = asyncio.Event()
        self.status = 0
        self.headers: dict[str, str] = {}

    async def ask(self) -> int:
        headers = [(name.encode(), value.encode()) for name, value in self._headers.items()]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "headers": headers, "client": None}
        async with asyncio.timeout(5):
            await self._endpoint(scope, self._receive, self._send)
        return self.status

    async def _receive(self) -> Any:
        body, self._body = self._body, b""
        if not body:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": body, "more_body": False}

    async def _send(self, part: Any) -> None:
        self.was_sent.set()
        await self.takes.wait()
        if part["type"] == "http.response.start":
            self.status = part["status"]
            self.headers = {name.decode(): value.decode() for name, value in part["headers"]}


def opening(endpoint: McpEndpoint) -> Client:
    client = Client(endpoint, json.dumps(INITIALIZE).encode())
    client.takes.set()
    return client


async def test_one_that_takes_no_answer_keeps_nobody_from_opening_a_session() -> None:
    """The SDK opens sessions one at a time, and would hold the door until the answer is taken."""
    async with serving() as endpoint:
        deaf = Client(endpoint, json.dumps(INITIALIZE).encode())
        asking = asyncio.create_task(deaf.ask())
        async with asyncio.timeout(5):
            await deaf.was_sent.wait()
        assert await opening(endpoint).ask() == 200
        deaf.takes.set()
        assert await asking == 200


async def test_when_there_is_no_room_the_longest_unused_session_gives_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client is told 404 and opens another; one that was used a moment ago is kept."""
    async with serving() as endpoint:
        monkeypatch.setattr(mcp_endpoint, "MOST_SESSIONS", 2)
        first, second = opening(endpoint), opening(endpoint)
        assert [await first.ask(), await second.ask()] == [200, 200]
        assert await opening(endpoint).ask() == 503
        monkeypatch.setattr(mcp_endpoint, "YIELDS_SECONDS", 0.0)
        assert await in_session(endpoint, first) == 202
        newcomer = opening(endpoint)
        assert await newcomer.ask() == 200
        assert [await in_session(endpoint, each) for each in (first, second, newcomer)] == [202, 404, 202]


async def in_session(endpoint: McpEndpoint, opened: Client) -> int:
    named = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
    client = Client(endpoint, json.dumps(message("notifications/initialized", number=None)).encode(), named)
    client.takes.set()
    return await client.ask()


@pytest.mark.parametrize("body", [b"{", b"[]", json.dumps(message("tools/list")).encode(), b"x" * (MOST_BYTES + 1)])
async def test_what_opens_no_session_takes_nobody_s_place(monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    """It is refused for what it is, full or not."""
    async with serving() as endpoint:
        monkeypatch.setattr(mcp_endpoint, "MOST_SESSIONS", 1)
        monkeypatch.setattr(mcp_endpoint, "YIELDS_SECONDS", 0.0)
        kept = opening(endpoint)
        assert await kept.ask() == 200
        stray = Client(endpoint, body)
        stray.takes.set()
        assert await stray.ask() in (400, 413)
        assert await in_session(endpoint, kept) == 202
