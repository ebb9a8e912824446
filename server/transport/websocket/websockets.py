"""The open WebSockets: how each begins, is heard, and ends. What is said on one is a stream's as SSE has them, in both
directions at once."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress
from typing import Any

import anyio
from mcp.server.lowlevel.server import Server
from prometheus_client import Gauge
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.utils import ClientDisconnected

from server.identity.bearer import bearer_of
from server.transport.http.bounds.admission import Admission
from server.transport.http.bounds.bodies import Bodies
from server.transport.http.bounds.holders import holder_of, owner_of
from server.transport.http.bounds.slots import NoRoom, Slots
from server.transport.http.responses import busy, plain
from server.transport.http.settling import settled
from server.transport.http.sse.conversation import converse
from server.transport.http.sse.direct import DirectTools
from server.transport.http.sse.inbox import Refused, take
from server.transport.http.sse.messages import Incoming
from server.transport.http.sse.stream import STREAM, TRANSPORT, SseStream
from server.transport.http.sse.streams import FINISH_SECONDS, IDLE_SECONDS, UNUSED_SECONDS
from server.transport.websocket.answers import NORMAL, NOT_TEXT, SUBPROTOCOL, UNPROVEN, Answers
from server.transport.websocket.gate import UPGRADE, Upgrade
from server.transport.websocket.proof import Admit, Proof, everybody
from session.resilience.clocks import Clock


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
