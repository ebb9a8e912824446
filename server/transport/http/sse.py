"""SSE streams (MCP 2024-11-05, HTTP with SSE), and the base class that they share with WebSockets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote

import anyio
from mcp.server.lowlevel.server import Server
from prometheus_client import Gauge
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.transport.http.bodies import Admission, Bodies
from server.transport.http.reach import SessionRouter
from server.transport.http.responses import HEADERS, busy, plain, wait_until_idle
from server.transport.http.slots import Slots, holder_of, principal_of
from server.transport.http.streams import MESSAGES, Incoming, Outgoing, Refused, Stream, admit, stream_for
from session.resilience.clocks import Clock
from session.resilience.tasks import end_task

PING_SECONDS = 15.0
"""Seconds between pings, which make proxies keep a silent stream open and reveal a disconnected client."""
FINISH_SECONDS = 0.5
UNUSED_SECONDS, IDLE_SECONDS = 60.0, 30 * 60.0
"""Seconds without a message after which a new stream can displace a stream without any message yet, and any other."""


@dataclass(eq=False)
class Streams:
    """At most `most` open streams."""

    mcp: Server[Any]
    most: int
    bodies: Bodies
    admission: Admission
    gauge: Gauge
    clock: Clock = time.monotonic

    def __post_init__(self) -> None:
        self._slots: Slots[Stream] = Slots(self.most, UNUSED_SECONDS, IDLE_SECONDS, self.clock)
        self._is_closed = False

    async def close_all(self) -> None:
        """Refuses new messages, waits up to 0.3 s for the answers to accepted ones, and then ends every stream."""
        self._is_closed = True
        await wait_until_idle(lambda: any(stream.busy() for stream in self._slots))
        for stream in self._slots:
            stream.scope.cancel()

    @contextmanager
    def _holding_slot(self, stream: Stream) -> Iterator[None]:
        if (ended := self._slots.take(stream)) is not None:
            ended.scope.cancel()
        try:
            with self.gauge.track_inprogress():
                yield
        finally:
            self._slots.release(stream)

    async def _converse(self, stream: Stream, *work: Coroutine[Any, Any, None]) -> None:
        """Serves the stream while the `work` coroutines run beside it, then cancels them and ends the response."""
        tasks = [asyncio.create_task(each, name="stream") for each in work]
        try:
            with stream.scope:  # cancels only the conversation; the response then ends normally
                await self.mcp.run(stream.incoming, stream.outgoing, self.mcp.create_initialization_options())
        finally:
            await end_task(*tasks)
            with anyio.move_on_after(FINISH_SECONDS):  # a client that does not read would block it
                await stream.outgoing.finish()


@dataclass(eq=False)
class SseStreams(Streams):
    new_name: Callable[[], Awaitable[str]] = field(default_factory=lambda: SessionRouter().new_name)
    _open: dict[str, Stream] = field(default_factory=dict)

    async def open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Opens a stream and serves it until its client disconnects. Responds 503 if there is no room."""
        outgoing, name = Outgoing(send), await self.new_name()
        stream = stream_for(scope, outgoing, name, "sse")
        if self._is_closed or not self._slots.has_room_for(stream.holder, stream.customer):
            await busy("There are as many open streams as this server serves.")(scope, receive, send)
        elif scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            with self._holding_slot(stream):
                self._open[name] = stream
                try:
                    root = scope.get("root_path", "").rstrip("/")
                    await outgoing.open(f"{quote(root + MESSAGES)}?session_id={name}")
                    await self._converse(stream, _wait_gone(receive, stream.incoming), _keep_alive(outgoing))
                finally:
                    self._open.pop(name, None)

    async def post(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Accepts a message or a batch posted to an open stream. Responds 202 or an error; the stream gets the answers."""
        try:
            stream = self._find(scope)
            body = await self.bodies.read(receive, holder_of(scope), scope["headers"])
            if isinstance(body, Response):
                raise Refused(body)
            if self._open.get(stream.name) is not stream:  # the stream ended while the body was read
                raise Refused(plain(404, "There is no such session."))
            admitted = admit(body, stream, scope, self.admission)
        except Refused as refused:
            await refused.response(scope, receive, send)
            return
        self._slots.use(stream)
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})
        await stream.put(admitted)

    async def close_all(self) -> None:
        self._open.clear()
        await super().close_all()
        await asyncio.sleep(0)  # lets the last bytes be sent

    def _find(self, scope: Scope) -> Stream:
        if scope["method"] != "POST":
            raise Refused(plain(405, "Only POST is served here.", {"Allow": "POST"}))
        if not Headers(scope=scope).get("content-type", "").lower().startswith("application/json"):
            raise Refused(plain(400, "The Content-Type has to be application/json."))
        name = _session_id(scope["query_string"])
        if not name:
            raise Refused(plain(400, "session_id is required."))
        stream = self._open.get(name)
        if stream is None or stream.owner != principal_of(scope):  # does not reveal that the stream exists
            raise Refused(plain(404, "There is no such session."))
        return stream


def _session_id(query: bytes) -> str | None:
    name, _, value = query.partition(b"=")
    if name == b"session_id" and value.isalnum():  # fast path for the usual query
        return value.decode("ascii")
    values = parse_qs(query.decode("latin-1")).get("session_id")
    return values[0] if values else None


async def _wait_gone(receive: Receive, incoming: Incoming) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    incoming.end()


async def _keep_alive(outgoing: Outgoing) -> None:
    while True:
        await asyncio.sleep(PING_SECONDS)
        await outgoing.write(b": ping\r\n\r\n")
