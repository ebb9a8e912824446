"""The open WebSockets: how each begins, is heard, and ends. What is said on one is a stream's as SSE has them, in both
directions at once.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.lowlevel.server import Server
from prometheus_client import Gauge
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.utils import ClientDisconnected

from server.config.settings import Settings
from server.identity import CannotTell, Unproven
from server.identity.bearer import bearer_of
from server.transport.http.bodies import TOGETHER, Admission, Bodies
from server.transport.http.connection import Connections, Upgrades
from server.transport.http.direct_calls import DirectTools
from server.transport.http.inbox import Refused, take
from server.transport.http.responses import busy, plain
from server.transport.http.settling import settled
from server.transport.http.slots import NoRoom, Slots, holder_of, owner_of
from server.transport.http.sse import FINISH_SECONDS, IDLE_SECONDS, PING_SECONDS, UNUSED_SECONDS, converse
from server.transport.http.streams import STREAM, TRANSPORT, Incoming, Outgoing, SseStream
from server.transport.websocket.connection import Unfinished
from session.resilience.clocks import Clock

if TYPE_CHECKING:
    from server.application import Application


SUBPROTOCOL = "mcp"
NORMAL, GOING_AWAY, NOT_TEXT, UNPROVEN = 1000, 1001, 1003, 1008
"""Why a WebSocket is closed (RFC 6455, section 7.4.1)."""


class Answers(Outgoing):
    """One frame at a time: the next is handed over when the socket has taken the one before."""

    def __init__(self, send: Send) -> None:
        super().__init__(send)
        self.code = GOING_AWAY
        """Why the server will close it, as long as its client does not."""

    async def accept(self) -> None:
        """Raises `ClientDisconnected`."""
        await self._send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL})

    def _framed(self, text: bytes) -> bytes:
        return text

    async def _pass_on(self, data: bytes) -> None:
        with suppress(ClientDisconnected):  # it will be noticed by whoever listens, as on an SSE stream
            await self._send({"type": "websocket.send", "text": data.decode()})

    async def finish(self) -> None:
        self._closed = True
        with suppress(ClientDisconnected):
            await self._send({"type": "websocket.close", "code": self.code})


LOOK_SECONDS = 5.0
"""A look costs some microseconds: a token is verified once and remembered until it expires."""
Admit = Callable[[str | None], Awaitable[str | None]]
"""That of an `Identifier`."""


class Proof:
    """What was shown when it was opened."""

    def __init__(self, admit: Admit, bearer: str | None) -> None:
        self._admit = admit
        self._bearer = bearer

    async def holds(self) -> bool:
        """Whether it would be let in now. Where nobody can tell, what was proven stays so."""
        try:
            await self._admit(self._bearer)
        except Unproven:
            return False
        except CannotTell:
            return True
        return True

    async def over(self) -> None:
        """Waits until it holds no more."""
        while await self.holds():  # noqa: ASYNC110 - nobody tells when a token ends, or is taken back
            await asyncio.sleep(LOOK_SECONDS)


async def everybody(bearer: str | None) -> None:
    """Admits them."""


PATH = "/ws"
UPGRADE = "manga.upgrade"
"""Where the scope of such a GET holds its `Upgrade`."""
SCHEMES = {"ws": "http", "wss": "https"}


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What the client says from now on, and how it is answered, as ASGI's `websocket` messages."""

    subprotocols: tuple[str, ...]
    receive: Receive
    send: Send


class Gate:
    """Shows `app`, which serves HTTP, each WebSocket as the GET that it is until it has been accepted."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        await receive()  # websocket.connect, with nothing in it
        upgrade = Upgrade(tuple(scope["subprotocols"]), receive, send)
        scheme = SCHEMES.get(scope["scheme"], scope["scheme"])
        request = {**scope, "type": "http", "method": "GET", "scheme": scheme, UPGRADE: upgrade}
        refusing = _Refusing(send)
        if scope["path"] == PATH:
            await self._app(request, receive, refusing)
        else:
            await plain(404, f"WebSockets are served at {PATH}.")(request, receive, refusing)


class _Refusing:
    """Says an HTTP response in place of the handshake."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Message) -> None:
        await self._send({**message, "type": f"websocket.{message['type']}"})


class WebSockets:
    """At most `most` at once. One yields to another under the rules of SSE streams."""

    def __init__(
        self,
        mcp: Server[Any],
        most: int,
        bodies: Bodies,
        admission: Admission,
        gauge: Gauge,
        clock: Clock = time.monotonic,
        admit: Admit = everybody,
        direct: DirectTools | None = None,
    ) -> None:
        self._mcp = mcp
        self._direct = direct
        self._admit = admit
        self._bodies = bodies
        self._admission = admission
        self._gauge = gauge
        self._slots: Slots[SseStream] = Slots(most, UNUSED_SECONDS, IDLE_SECONDS, clock)
        self._closed = False
        self._none_left = asyncio.Event()

    def __len__(self) -> int:
        return len(self._slots)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one, for as long as its client stays."""
        upgrade: Upgrade | None = scope.get(UPGRADE)
        if upgrade is None:
            await plain(426, "This is served over WebSocket.", {"Upgrade": "websocket"})(scope, receive, send)
        elif SUBPROTOCOL not in upgrade.subprotocols:
            await plain(400, f"The subprotocol has to be {SUBPROTOCOL}.")(scope, receive, send)
        else:
            answers = Answers(upgrade.send)
            stream = SseStream(holder=holder_of(scope), owner=owner_of(scope), incoming=Incoming(), outgoing=answers)
            if not self._takes(stream):
                full = busy("There are as many open WebSockets as this server serves.")
                await full(scope, receive, send)
                return
            with suppress(ClientDisconnected):  # whoever was to be told has gone
                await self._serve(stream, answers, scope, upgrade)

    def _takes(self, stream: SseStream) -> bool:
        if self._closed:
            return False
        try:
            ended = self._slots.take(stream)
        except NoRoom:
            return False
        if ended is not None:
            ended.scope.cancel()
        return True

    async def close_all(self) -> None:
        """Ends every one with 1001: what it has taken is answered, for a moment, and it has another to have said so."""
        self._closed = True
        await settled(lambda: any(stream.busy() for stream in self._slots))
        self._none_left.clear()
        for stream in self._slots:
            stream.scope.cancel()
        with anyio.move_on_after(FINISH_SECONDS):
            if len(self._slots):
                await self._none_left.wait()

    async def _serve(self, stream: SseStream, answers: Answers, scope: Scope, upgrade: Upgrade) -> None:
        self._gauge.inc()
        try:
            await answers.accept()
            await self._converse(stream, answers, scope, upgrade)
        finally:
            self._gauge.dec()
            self._slots.leave(stream)
            if not len(self._slots):
                self._none_left.set()

    async def _converse(self, stream: SseStream, answers: Answers, scope: Scope, upgrade: Upgrade) -> None:
        proof = Proof(self._admit, bearer_of(Headers(scope=scope)))
        heard = self._hear(stream, answers, proof, scope, upgrade.receive)
        hearing = asyncio.create_task(heard, name="websocket-heard")
        watching = asyncio.create_task(_end_unproven(stream, answers, proof), name="websocket-proof")
        hearing.add_done_callback(lambda _: watching.cancel())  # at once: whoever has gone leaves their place to others
        try:
            with stream.scope:
                await converse(self._mcp, self._direct, stream.incoming, answers)
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, watching, return_exceptions=True)
            with anyio.move_on_after(FINISH_SECONDS):  # whoever reads nothing does not read the end either
                await answers.finish()

    async def _hear(self, stream: SseStream, answers: Answers, proof: Proof, scope: Scope, receive: Receive) -> None:
        """Reads messages until the client has gone or says what is none: either ends what is under way."""
        of_all = {STREAM: secrets.token_hex(16), TRANSPORT: "websocket"}
        try:
            while (said := await receive())["type"] == "websocket.receive":
                if said.get("text") is None:
                    answers.code = NOT_TEXT
                    return
                if not await proof.holds():
                    answers.code = UNPROVEN
                    return
                self._slots.use(stream)
                own = {**scope, **of_all, "manga.arrived": time.monotonic()}
                await self._take(said["text"].encode(), stream, own)
            answers.code = NORMAL
        finally:
            stream.incoming.end()

    async def _take(self, text: bytes, stream: SseStream, scope: Scope) -> None:
        try:
            body = await self._bodies.read(_whole(text), stream.holder)
            if isinstance(body, Response):
                raise Refused(body)
            if self._closed:  # asked last, so that what is taken is waited for
                raise Refused(busy("The server is stopping."))
            taken = take(body, stream, scope, self._admission)
        except Refused as refused:
            await stream.take([], [refused.error(text)])
        else:
            await stream.take(taken.messages, taken.errors)


async def _end_unproven(stream: SseStream, answers: Answers, proof: Proof) -> None:
    """Ends one that nobody says anything on: what is under way is answered, for a moment."""
    await proof.over()
    await settled(stream.busy)
    answers.code = UNPROVEN
    stream.incoming.end()


def _whole(text: bytes) -> Receive:
    """Returns a `receive` for whoever reads bodies of requests."""

    async def receiving() -> Message:
        return {"type": "http.request", "body": text, "more_body": False}

    return receiving


PONG_SECONDS = 20.0
"""How long a client may take to answer a ping before it is taken for one that has gone."""


class WebSocketUpgrades(Upgrades):
    """There may be as many as there may be SSE streams."""

    def __init__(self, settings: Settings, app: Application) -> None:
        bodies, admission = Bodies(settings.max_body_bytes), Admission(app.protocol.subscriptions, app.protocol.extensions)
        gauge = Gauge("manga_websockets", "Open WebSockets.", registry=app.metrics.registry)
        self.most, self._most_bytes = settings.max_sse_sessions, settings.max_body_bytes
        self._unfinished = Unfinished(TOGETHER * settings.max_body_bytes)
        protocol, admit = app.protocol, app.identifier.admit
        direct = DirectTools(protocol.call_directly, protocol.list_directly, protocol.knows, protocol.asks)
        self._sockets = WebSockets(protocol.mcp, self.most, bodies, admission, gauge, admit=admit, direct=direct)

    def routes(self) -> list[BaseRoute]:
        return [Route(PATH, self._sockets, methods=["GET"])]

    def around(self, asgi: ASGIApp) -> ASGIApp:
        return Gate(asgi)

    def options(self, connections: Connections) -> dict[str, Any]:
        # Imported here: a server without WebSockets does without the library.
        from server.transport.websocket.connection import LOGGER, WebSocketConnection

        logging.getLogger(LOGGER).setLevel(logging.ERROR)  # uvicorn notes each that comes, with its address
        return {
            "ws": partial(WebSocketConnection, all_of_them=connections, unfinished=self._unfinished),
            "ws_max_size": self._most_bytes,
            "ws_ping_interval": PING_SECONDS,
            "ws_ping_timeout": PONG_SECONDS,
            "ws_per_message_deflate": False,  # what is small on the wire could be anything in memory
        }

    async def close_all(self) -> None:
        await self._sockets.close_all()


def open_websockets(settings: Settings, app: Application) -> Upgrades:
    return WebSocketUpgrades(settings, app) if settings.websocket else Upgrades()
