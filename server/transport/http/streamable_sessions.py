from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import mcp_types as types
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.transport.http.responses import busy, refusal, wait_until_idle
from server.transport.http.slots import NoRoom, Slot, Slots, customer_of, holder_of, principal_of, user_of
from server.transport.listeners import SessionStreams
from server.transport.messages import DUPLICATE_ID, Posted
from session.resilience.clocks import Clock

UNUSED_SECONDS, IDLE_SECONDS = 10.0, 60.0
"""Seconds after which a session never used, or not lately, can be displaced by a new one: its client gets 404 and opens a
new session (MCP, basic/transports, session management)."""
ENDING_SECONDS = 5.0
"""Seconds that an ending session waits for its requests: the longest call."""
MOST_UNDER_WAY = 256
ID = b"mcp-session-id"


@dataclass(slots=True, eq=False, kw_only=True)
class _Session(Slot):
    """A Streamable HTTP session; `name` is empty until the SDK has opened it."""

    name: str = ""
    batches: bool = False
    owner: str | None
    posts: dict[object, tuple[types.RequestId | None, asyncio.Event]] = field(default_factory=dict)
    """The running POSTs, requests by their id as text, as the SDK compares ids: the id itself, and an event that is set at
    the end."""
    is_ending: bool = False

    def busy(self) -> bool:
        return bool(self.posts) or not self.name

    @contextmanager
    def working(self, number: types.RequestId | None = None) -> Iterator[None]:
        key, over = object() if number is None else str(number), asyncio.Event()
        self.posts[key] = number, over
        try:
            yield
        finally:
            over.set()
            del self.posts[key]


class Sessions:
    """Limits the SDK's Streamable HTTP sessions to `most`. Ends a session by sending the SDK a DELETE. Notifies `streams`
    when the GET stream of a session opens and closes."""

    def __init__(
        self, sdk: ASGIApp, most: int, clock: Clock = time.monotonic, streams: SessionStreams | None = None
    ) -> None:
        self._sdk = sdk
        self._streams = SessionStreams() if streams is None else streams
        self._slots: Slots[_Session] = Slots(most, UNUSED_SECONDS, IDLE_SECONDS, clock)
        self._named: dict[str, _Session] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def has_batches(self, scope: Scope) -> bool:
        """Returns True if the request names a session of its caller whose protocol version has batches."""
        session = self._find(scope)
        return session is not None and session.batches

    async def open(self, scope: Scope, receive: Receive, send: Send, *, batches: bool = False) -> None:
        """Passes an `initialize` request to the SDK, and registers the session that the SDK opens. Responds 503 if there is
        no room."""
        session = _Session(
            holder=holder_of(scope), customer=customer_of(scope["headers"]), owner=principal_of(scope), batches=batches
        )
        try:
            ended = self._slots.take(session)
        except NoRoom:
            await busy("There are as many sessions as this server keeps.")(scope, receive, send)
            return

        async def naming_send(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                session.name = _name_in(message)
                self._named[session.name] = session
            await send(message)

        try:
            if ended is not None:
                await self._end(ended)
            await self._sdk(scope, receive, naming_send)
        finally:
            if not session.name:
                self._slots.release(session)
            elif session not in self._slots:  # the session was displaced before it had a name
                await self._end(session)

    async def serve(self, posted: Posted | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request with a session id to the SDK. `posted` is None if the request has no readable message."""
        session = self._find(scope)
        if session is None:
            await self._sdk(scope, receive, send)  # answers 404
        elif session.is_ending:
            await refusal(types.INVALID_REQUEST, "Session not found", 404)(scope, receive, send)
        elif scope["method"] == "DELETE":
            # Earlier messages are answered first: the SDK logs a traceback for a message in an ending session.
            session.is_ending = True
            await wait_until_idle(session.busy, ENDING_SECONDS)
            await self._end(session, send)
        elif scope["method"] != "POST":
            self._slots.use(session)
            await self._serve_stream(session, scope, receive, send)
        elif (clash := await _wait_for_id(session, posted)) is not None:
            await clash(scope, receive, send)
        else:
            self._slots.use(session)
            with session.working(posted.number if posted else None):
                await self._sdk(scope, receive, self._forgetting_send(session, send))
            self._slots.use(session)

    async def close_all(self) -> None:
        """Ends every session. Refuses new messages, and waits up to 0.3 s for the answers to accepted ones."""
        for session in self._named.values():
            session.is_ending = True
        await wait_until_idle(lambda: any(session.busy() for session in self._named.values()))
        for session in list(self._named.values()):
            await self._end(session)

    def _find(self, scope: Scope) -> _Session | None:
        session = self._named.get(_name_in(scope))
        return session if session is not None and session.owner == principal_of(scope) else None

    async def _serve_stream(self, session: _Session, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a GET to the SDK, and notifies `streams` while the stream is open. Drops Last-Event-ID, to which the SDK
        would respond with HTTP 500, since no events are kept for a replay."""
        send = self._forgetting_send(session, send)
        headers = [each for each in scope["headers"] if each[0] != b"last-event-id"]
        is_open = False

        async def noting_send(message: Message) -> None:
            nonlocal is_open
            await send(message)
            if message["type"] == "http.response.start" and message["status"] == 200:
                is_open = True
                self._streams.open(session.name)

        try:
            await self._sdk({**scope, "headers": headers}, receive, noting_send)
        finally:
            if is_open:
                self._streams.close(session.name)

    async def _end(self, session: _Session, send: Send | None = None) -> None:
        """Ends a session by sending the SDK a DELETE without a body. The client's own DELETE is not passed on, since the SDK
        might wait for ever for its body."""

        async def receive() -> Message:
            return {"type": "http.disconnect"}

        async def drop(message: Message) -> None: ...

        session.is_ending = True
        headers = [(ID, session.name.encode("ascii"))]
        scope: Scope = {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"", "headers": headers}
        if session.owner is not None:
            scope["user"] = user_of(session.owner)
        try:
            await self._sdk(scope, receive, send or drop)
        finally:
            self._forget(session)

    def _forget(self, session: _Session) -> None:
        self._named.pop(session.name, None)
        self._slots.release(session)

    def _forgetting_send(self, session: _Session, send: Send) -> Send:
        """Returns a `send` that removes the session at a 404, the SDK's response for a session that it has ended."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 404:
                self._forget(session)
            await send(message)

        return sending


async def _wait_for_id(session: _Session, posted: Posted | None) -> JSONResponse | None:
    """Returns the refusal of a request whose id is in use, or that exceeds `MOST_UNDER_WAY`; else None.

    The SDK would answer only the later of two requests with the same id. It takes 7 and "7" for the same id, so the later of
    two such requests waits until the earlier has ended.
    """
    number = posted.number if posted is not None else None
    while number is not None and (other := session.posts.get(str(number))) is not None:
        if other[0] == number:
            return refusal(types.INVALID_REQUEST, DUPLICATE_ID)
        with session.working():  # the end of the session waits for this block
            await other[1].wait()
    if len(session.posts) >= MOST_UNDER_WAY:
        return refusal(types.INVALID_REQUEST, "This session has too many requests under way.", 503)
    return None


def _name_in(message: Scope | Message) -> str:
    return Headers(raw=message["headers"]).get("mcp-session-id", "")
