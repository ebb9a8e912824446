from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prometheus_client import Gauge
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.utils import ClientDisconnected

from server.config.settings import Settings
from server.identity.request_metadata import InvalidToken, KeysUnavailable, bearer_of
from server.transport.http.app import Addon
from server.transport.http.bodies import Admission, Bodies, replay_body
from server.transport.http.connection import Connections
from server.transport.http.responses import busy, plain, wait_until_idle
from server.transport.http.slots import NoRoom
from server.transport.http.sse import FINISH_SECONDS, PING_SECONDS, Streams
from server.transport.http.streams import Outgoing, Refused, Stream, admit, stream_for

if TYPE_CHECKING:
    from server.application import Application


SUBPROTOCOL = "mcp"
NORMAL, GOING_AWAY, NOT_TEXT, UNPROVEN = 1000, 1001, 1003, 1008
"""Close codes (RFC 6455, section 7.4.1)."""
RECHECK_SECONDS = 5.0
"""Seconds between verifications of a token. Each costs some microseconds: the result is cached until the token expires."""
PATH = "/ws"
UPGRADE = "manga.upgrade"
"""Scope key of the WebSocket's own `receive` and `send`, in the GET that stands for its handshake."""


class Frames(Outgoing):
    """The server's messages, each sent as a text frame once the socket has taken the previous frame. `code` is the close
    code if the server closes the connection."""

    _frame: Callable[[bytes], bytes] = staticmethod(bytes)
    code = GOING_AWAY

    async def _write(self, data: bytes) -> None:
        with suppress(ClientDisconnected):  # the reader will notice, as on an SSE stream
            await self._send({"type": "websocket.send", "text": data.decode()})

    async def finish(self) -> None:
        self._closed = True
        with suppress(ClientDisconnected):
            await self._send({"type": "websocket.close", "code": self.code})


@dataclass(eq=False, kw_only=True)
class WebSockets(Streams, Addon):
    """The open WebSockets, at most `most`, with messages of at most `most_bytes`. A new one displaces another by the same
    rules as SSE streams (`Slots`). `admit_bearer` is called repeatedly to verify the bearer token of each."""

    admit_bearer: Callable[[str | None], Awaitable[str | None]]
    most_bytes: int

    def wrap(self, asgi: ASGIApp) -> ASGIApp:
        """Returns an application that passes each WebSocket handshake for `PATH` to `asgi` as a GET, which has to pass the
        same checks as other requests. Answers 404 to handshakes for other paths."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "websocket":
                await asgi(scope, receive, send)
                return

            async def refusing_send(message: Message) -> None:
                """Sends an HTTP response in place of the handshake."""
                await send({**message, "type": f"websocket.{message['type']}"})

            await receive()  # websocket.connect, with nothing in it
            scheme = {"ws": "http", "wss": "https"}.get(scope["scheme"], scope["scheme"])
            request = {**scope, "type": "http", "method": "GET", "scheme": scheme, UPGRADE: (receive, send)}
            served = asgi if scope["path"] == PATH else plain(404, f"WebSockets are served at {PATH}.")
            await served(request, receive, refusing_send)

        return serve

    def routes(self) -> list[BaseRoute]:
        return [Route(PATH, self, methods=["GET"])]

    def options(self, connections: Connections) -> dict[str, Any]:
        # Imported here: a server without WebSockets does without the library.
        from server.transport.websocket.connection import websocket_options

        return websocket_options(connections, self.most_bytes) | {"ws_ping_interval": PING_SECONDS, "ws_ping_timeout": 20.0}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if UPGRADE not in scope:
            await plain(426, "This is served over WebSocket.", {"Upgrade": "websocket"})(scope, receive, send)
            return
        if SUBPROTOCOL not in scope["subprotocols"]:
            await plain(400, f"The subprotocol has to be {SUBPROTOCOL}.")(scope, receive, send)
            return
        receive_frame, send_frame = scope[UPGRADE]
        frames = Frames(send_frame)
        stream = stream_for(scope, frames, secrets.token_hex(16), "websocket")
        try:
            if self._is_closed:
                raise NoRoom
            with suppress(ClientDisconnected), self._slots.holding(stream, Stream.end), self.gauge.track_inprogress():
                await send_frame({"type": "websocket.accept", "subprotocol": SUBPROTOCOL})
                bearer = bearer_of(Headers(scope=scope))
                reading = self._read(stream, frames, bearer, scope, receive_frame)
                await self._converse(stream, reading, self._end_unproven(stream, frames, bearer))
        except NoRoom:
            await busy("There are as many open WebSockets as this server serves.")(scope, receive, send)

    async def close_all(self) -> None:
        """Closes every WebSocket with code 1001, and waits up to `FINISH_SECONDS` until they are closed."""
        await super().close_all()
        await wait_until_idle(lambda: len(self._slots) > 0, FINISH_SECONDS)

    async def _is_proven(self, bearer: str | None) -> bool:
        """Returns True if the bearer is valid, or cannot be verified at the moment."""
        try:
            await self.admit_bearer(bearer)
        except InvalidToken:
            return False
        except KeysUnavailable:
            pass
        return True

    async def _read(self, stream: Stream, frames: Frames, bearer: str | None, scope: Scope, receive: Receive) -> None:
        """Reads until the client disconnects, sends a binary frame or has an invalid token; ends the conversation."""
        try:
            while (message := await receive())["type"] == "websocket.receive":
                if message.get("text") is None:
                    frames.code = NOT_TEXT
                    return
                if not await self._is_proven(bearer):
                    frames.code = UNPROVEN
                    return
                self._slots.use(stream)
                await self._take(message["text"].encode(), stream, {**scope, "manga.arrived": time.monotonic()}, receive)
            frames.code = NORMAL
        finally:
            stream.incoming.end()

    async def _take(self, text: bytes, stream: Stream, scope: Scope, receive: Receive) -> None:
        try:
            body = await self.bodies.read(replay_body(text, receive), stream.holder)
            if isinstance(body, Response):
                raise Refused(body)
            if self._is_closed:  # checked last, so that an admitted message is waited for
                raise Refused(busy("The server is stopping."))
            admitted = admit(body, stream, scope, self.admission)
        except Refused as refused:
            admitted = [refused.error(text)]
        await stream.put(admitted)

    async def _end_unproven(self, stream: Stream, frames: Frames, bearer: str | None) -> None:
        """Waits until the bearer token is no longer valid, and then ends the conversation, even if the client sends
        nothing. Gives open calls 0.3 s to end."""
        while await self._is_proven(bearer):  # noqa: ASYNC110 - nothing signals that a token has expired or was revoked
            await asyncio.sleep(RECHECK_SECONDS)
        await wait_until_idle(stream.busy)
        frames.code = UNPROVEN
        stream.incoming.end()


def open_websockets(settings: Settings, app: Application) -> Addon:
    """Returns the addon of /ws, or one without effect if WebSockets are off."""
    if not settings.websocket:
        return Addon()
    return WebSockets(
        app.protocol.mcp,
        settings.max_sse_sessions,
        Bodies(settings.max_body_bytes),
        Admission(app.protocol.subscriptions, app.protocol.extensions),
        Gauge("manga_websockets", "Open WebSockets.", registry=app.metrics.registry),
        admit_bearer=app.identifier.admit,
        most_bytes=settings.max_body_bytes,
    )
