"""The open streams: how each begins, is kept alive, and ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner, aclose_shielded
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from prometheus_client import Gauge
from starlette.types import Receive, Scope, Send

from server.transport.http.bodies import Admission, Bodies
from server.transport.http.direct_calls import DirectCalls, DirectTools
from server.transport.http.inbox import SsePosts
from server.transport.http.reach import OwnSessions
from server.transport.http.responses import busy
from server.transport.http.settling import settled
from server.transport.http.slots import Slots, holder_of, owner_of
from server.transport.http.streams import HEADERS, MESSAGES, Incoming, Outgoing, SseStream
from session.resilience.clocks import Clock

END_SECONDS = 2.0
"""What calls that were cut off may take to be over; longer than one waits to tell its client (`direct.CLOSED_SECONDS`)."""
OTHER_ERA = (
    "this connection serves the handshake protocol era; requests carrying the 2026-07-28 envelope are not accepted on it"
)
"""As the SDK says it."""


async def converse(mcp: Server[Any], direct: DirectTools | None, incoming: Incoming, outgoing: Outgoing) -> None:
    """Serves one client until it has gone. What opens with a handshake is served here, as the SDK's own `Server.run` would,
    but for the calls that `direct` takes; what does not is left to that."""
    options = mcp.create_initialization_options()
    opening = await incoming.opening() if direct is not None else None
    if direct is None or opening is None or (opening.method != "initialize" and _enveloped(opening.params)):
        await mcp.run(incoming, outgoing, options)
        return
    async with mcp.lifespan(mcp) as lifespan:
        dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
            incoming, outgoing, inline_methods=frozenset({"initialize"})
        )
        connection = Connection.for_loop(dispatcher)
        runner = ServerRunner(mcp, connection, lifespan, init_options=options)
        calls = DirectCalls(direct, connection, outgoing, lifespan)
        incoming.pass_by(calls.take)
        incoming.ready = outgoing.taken
        try:
            await dispatcher.run(_of_one_era(runner), runner.on_notify)
        finally:
            incoming.pass_by(None)
            # Where the whole conversation is cancelled, what it waits for at its end is not.
            with anyio.move_on_after(END_SECONDS, shield=True):
                await calls.aclose()
            await aclose_shielded(connection)


def _of_one_era(runner: ServerRunner[Any]) -> Any:
    async def on_request(
        dctx: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        if method != "initialize" and _enveloped(params):
            raise MCPError(types.INVALID_REQUEST, OTHER_ERA)
        return await runner.on_request(dctx, method, params)

    return on_request


def _enveloped(params: Mapping[str, Any] | None) -> bool:
    """Whether a request carries the envelope of the 2026 era."""
    meta = (params or {}).get("_meta")
    return isinstance(meta, Mapping) and types.PROTOCOL_VERSION_META_KEY in meta


Names = Callable[[], Awaitable[str]]
PING_SECONDS = 15.0
"""How often a silent stream says something, so that proxies keep it and a client that has gone is noticed."""
FINISH_SECONDS = 0.5
UNUSED_SECONDS = 60.0
IDLE_SECONDS = 30 * 60.0
"""A stream may be idle for as long as its client likes. When there is no room for another one, who holds more than the
newcomer gives up the longest unused of theirs; else that yields on which nothing has been posted for half an hour, or a
minute if nothing ever was."""


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
        names: Names | None = None,
        direct: DirectTools | None = None,
    ) -> None:
        """`direct` takes calls past the SDK's dispatcher."""
        self._mcp = mcp
        self._names = names or OwnSessions().name
        self._direct = direct
        self._gauge = gauge
        self._slots: Slots[SseStream] = Slots(most, UNUSED_SECONDS, IDLE_SECONDS, clock)
        self._open: dict[str, SseStream] = {}
        self._closed = False
        self.post = SsePosts(self._open, self._slots.use, bodies, admission)

    async def open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one stream, for as long as its client stays."""
        holder, name = holder_of(scope), await self._names()
        if self._closed or not self._slots.is_open_to(holder):
            await busy("There are as many open streams as this server serves.")(scope, receive, send)
        elif scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            stream = SseStream(holder=holder, owner=owner_of(scope), incoming=Incoming(), outgoing=Outgoing(send))
            await self._serve(name, stream, scope, receive)

    async def _serve(self, name: str, stream: SseStream, scope: Scope, receive: Receive) -> None:
        if (ended := self._slots.take(stream)) is not None:
            ended.scope.cancel()
        self._open[name] = stream
        self._gauge.inc()
        try:
            endpoint = f"{quote(scope.get('root_path', '').rstrip('/') + MESSAGES)}?session_id={name}"
            await self._converse(stream, stream.outgoing, endpoint, receive)
        finally:
            self._gauge.dec()
            self._open.pop(name, None)
            self._slots.leave(stream)

    async def close_all(self) -> None:
        """Ends every stream: it takes nothing more, what it has taken is answered, and the last bytes leave."""
        self._closed = True
        streams = list(self._open.values())
        self._open.clear()
        await settled(lambda: any(stream.busy() for stream in streams))
        for stream in streams:
            stream.scope.cancel()
        await asyncio.sleep(0)

    async def _converse(self, stream: SseStream, outgoing: Outgoing, endpoint: str, receive: Receive) -> None:
        await outgoing.open(endpoint)
        keepers = [
            asyncio.create_task(_until_gone(receive, stream.incoming), name="sse-gone"),
            asyncio.create_task(_keep_alive(outgoing), name="sse-ping"),
        ]
        try:
            # Only the conversation is cancelled; the stream then ends as a response should.
            with stream.scope:
                await converse(self._mcp, self._direct, stream.incoming, outgoing)
        finally:
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)
            with anyio.move_on_after(FINISH_SECONDS):  # whoever reads nothing does not read the end either
                await outgoing.finish()


async def _until_gone(receive: Receive, incoming: Incoming) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    incoming.end()


async def _keep_alive(outgoing: Outgoing) -> None:
    while True:
        await asyncio.sleep(PING_SECONDS)
        await outgoing.write(b": ping\r\n\r\n")
