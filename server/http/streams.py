"""Server-sent events: the stream that a client opens and the POSTs that belong to it (MCP 2024-11-05, HTTP with SSE)."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.sse import SseServerTransport
from prometheus_client import Gauge
from starlette.types import Receive, Scope, Send

from server.http.answers import busy

MESSAGES = "/messages/"


class SseStreams:
    """At most `most` at once: each holds a socket and two tasks for as long as its client likes."""

    def __init__(self, mcp: Server[Any], most: int, max_body_bytes: int, gauge: Gauge) -> None:
        self._mcp = mcp
        self._most = most
        self._gauge = gauge
        self._transport = SseServerTransport(MESSAGES, max_request_body_size=max_body_bytes)
        self._scopes: set[anyio.CancelScope] = set()
        self._closed = False

    async def open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One stream, for as long as its client stays."""
        if len(self._scopes) >= self._most or self._closed:
            await busy("There are as many open streams as this server serves.")(scope, receive, send)
            return
        with self._counted() as own:
            async with self._transport.connect_sse(scope, receive, send) as (read, write):
                # Only the conversation is cancelled; the stream then ends as a response should.
                with own:
                    await self._mcp.run(read, write, self._mcp.create_initialization_options())

    async def post(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One message of a client with an open stream."""
        await self._transport.handle_post_message(scope, receive, send)

    async def close_all(self) -> None:
        """Ends every stream, and gives the last bytes a moment to leave."""
        self._closed = True
        for own in list(self._scopes):
            own.cancel()
        await asyncio.sleep(0)

    def _counted(self) -> _Counted:
        return _Counted(self._scopes, self._gauge)


class _Counted:
    def __init__(self, scopes: set[anyio.CancelScope], gauge: Gauge) -> None:
        self._scopes = scopes
        self._gauge = gauge
        self._own = anyio.CancelScope()

    def __enter__(self) -> anyio.CancelScope:
        self._scopes.add(self._own)
        self._gauge.inc()
        return self._own

    def __exit__(self, *_: object) -> None:
        self._scopes.discard(self._own)
        self._gauge.dec()


class SseEndpoint:
    """An object, so that Starlette takes it for an ASGI application and not for a request handler."""

    def __init__(self, streams: SseStreams) -> None:
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._streams.open(scope, receive, send)
