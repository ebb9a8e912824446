"""Server-sent events: the stream that a client opens and the POSTs that belong to it (MCP 2024-11-05, HTTP with SSE)."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote

import anyio
import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.lowlevel.server import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from prometheus_client import Gauge
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.transport.http.bounds.admission import Admission
from server.transport.http.bounds.bodies import Bodies
from server.transport.http.bounds.holders import holder_of, owner_of
from server.transport.http.bounds.posted import Posted, introduced
from server.transport.http.bounds.slots import Slot, Slots
from server.transport.http.responses import busy, plain
from server.transport.http.sse import HEADERS, MESSAGES, MOST_UNREAD, Incoming, Outgoing
from session.resilience.clocks import Clock

STREAM = "manga.stream"
"""Where a POST's scope says which stream it belongs to."""
PING_SECONDS = 15.0
"""How often a silent stream says something, so that proxies keep it and a client that has gone is noticed."""
FINISH_SECONDS = 0.5
UNUSED_SECONDS = 60.0
IDLE_SECONDS = 30 * 60.0
"""A stream may be idle for as long as its client likes. When there is no room for another one, who holds more than the
newcomer gives up the longest unused of theirs; else that yields on which nothing has been posted for half an hour, or a
minute if nothing ever was."""


@dataclass(slots=True, eq=False, kw_only=True)
class _Stream(Slot):
    owner: AuthorizationContext | None
    incoming: Incoming
    outgoing: Outgoing
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def busy(self) -> bool:
        return bool(self.outgoing.under_way)


class SseStreams:
    """At most `most` at once: each holds a socket and a few tasks for as long as its client likes."""

    def __init__(
        self,
        mcp: Server[Any],
        most: int,
        bodies: Bodies,
        admission: Admission,
        gauge: Gauge,
        clock: Clock = time.monotonic,
    ) -> None:
        self._mcp = mcp
        self._bodies = bodies
        self._admission = admission
        self._gauge = gauge
        self._slots: Slots[_Stream] = Slots(most, UNUSED_SECONDS, IDLE_SECONDS, clock)
        self._open: dict[str, _Stream] = {}
        self._closed = False

    async def open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One stream, for as long as its client stays."""
        holder = holder_of(scope)
        if self._closed or not self._slots.is_open_to(holder):
            await busy("There are as many open streams as this server serves.")(scope, receive, send)
        elif scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await self._serve(
                _Stream(holder=holder, owner=owner_of(scope), incoming=Incoming(), outgoing=Outgoing(send)), scope, receive
            )

    async def _serve(self, stream: _Stream, scope: Scope, receive: Receive) -> None:
        if (ended := self._slots.take(stream)) is not None:
            ended.scope.cancel()
        name = secrets.token_hex(16)
        self._open[name] = stream
        self._gauge.inc()
        try:
            endpoint = f"{quote(scope.get('root_path', '').rstrip('/') + MESSAGES)}?session_id={name}"
            await self._converse(stream, stream.outgoing, endpoint, receive)
        finally:
            self._gauge.dec()
            self._open.pop(name, None)
            self._slots.leave(stream)

    async def post(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One message of a client with an open stream. The answer comes on the stream; here it is 202, or what is wrong."""
        if scope["method"] != "POST":
            await plain(405, "Only POST is served here.", {"Allow": "POST"})(scope, receive, send)
            return
        taken = await self._taken(scope, receive)
        if isinstance(taken, Response):
            await taken(scope, receive, send)
            return
        stream, message = taken
        self._slots.use(stream)
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})
        stream.incoming.put(message)

    async def close_all(self) -> None:
        """Ends every stream, and gives the last bytes a moment to leave."""
        self._closed = True
        for stream in list(self._open.values()):
            stream.scope.cancel()
        await asyncio.sleep(0)

    async def _converse(self, stream: _Stream, outgoing: Outgoing, endpoint: str, receive: Receive) -> None:
        await outgoing.open(endpoint)
        keepers = [
            asyncio.create_task(_until_gone(receive, stream.incoming), name="sse-gone"),
            asyncio.create_task(_keep_alive(outgoing), name="sse-ping"),
        ]
        try:
            # Only the conversation is cancelled; the stream then ends as a response should.
            with stream.scope:
                await self._mcp.run(stream.incoming, outgoing, self._mcp.create_initialization_options())
        finally:
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)
            with anyio.move_on_after(FINISH_SECONDS):  # whoever reads nothing does not read the end either
                await outgoing.finish()

    async def _taken(self, scope: Scope, receive: Receive) -> Response | tuple[_Stream, SessionMessage]:
        """The message and its stream, or what is wrong."""
        if not Headers(scope=scope).get("content-type", "").lower().startswith("application/json"):
            return plain(400, "The Content-Type has to be application/json.")
        name = _named(scope["query_string"])
        if not name:
            return plain(400, "session_id is required.")
        stream = self._open.get(name)
        if stream is None or stream.owner != owner_of(scope):
            # Whoever is not the one that opened it learns nothing, not even that there is such a stream.
            return plain(404, "There is no such session.")
        body = await self._bodies.read(receive, holder_of(scope))
        if isinstance(body, Response):
            return body
        try:
            message = types.jsonrpc_message_adapter.validate_json(body, by_name=False)
        except ValidationError:
            return plain(400, "This is no JSON-RPC message.")
        posted = Posted.of_message(message, len(body))
        refused = None if posted is None else self._admission.refusal(scope, posted)
        if refused is not None:
            return refused
        if stream.incoming.full:
            return busy("This session has too many messages waiting.")
        scope[STREAM] = name
        metadata = ServerMessageMetadata(request_context=Request(scope))
        if isinstance(message, types.JSONRPCRequest):
            refused = _asked(stream.outgoing, message, metadata)
        return refused if refused is not None else (stream, SessionMessage(message, metadata))


class SseEndpoint:
    """An object, so that Starlette takes it for an ASGI application and not for a request handler."""

    def __init__(self, streams: SseStreams) -> None:
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._streams.open(scope, receive, send)


def _asked(outgoing: Outgoing, message: types.JSONRPCRequest, metadata: ServerMessageMetadata) -> Response | None:
    """Notes that a request is under way, until it is answered or was cancelled; or says why it cannot be."""
    number = str(message.id)
    if outgoing.full:
        return busy("This session has too many answers waiting to be read.")
    if len(outgoing.under_way) >= MOST_UNREAD:
        return busy("This session has too many requests under way.")
    if number in outgoing.under_way:
        return plain(400, "There is a request with this id under way in this session.")

    async def unanswered() -> None:
        outgoing.under_way.discard(number)

    outgoing.under_way.add(number)
    metadata.on_request_unanswered = unanswered
    if message.method == "initialize":
        message.params = introduced(message.params or {})
    return None


async def _until_gone(receive: Receive, incoming: Incoming) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    incoming.end()


async def _keep_alive(outgoing: Outgoing) -> None:
    while True:
        await asyncio.sleep(PING_SECONDS)
        await outgoing.write(b": ping\r\n\r\n")


def _named(query: bytes) -> str | None:
    values = parse_qs(query.decode("latin-1")).get("session_id")
    return values[0] if values else None
