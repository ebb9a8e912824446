"""The sessions of the 2025 era, as far as the edge keeps count of them. What happens in them is the SDK's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.transport.http.answers import INVALID_REQUEST, refusal
from server.transport.http.bodies import Posted
from server.transport.http.responses import busy
from server.transport.http.settling import settled
from server.transport.http.slots import NoRoom, Slot, Slots, holder_of, owner_of
from server.transport.listeners import SessionStreams
from session.resilience.clocks import Clock


async def serve_stream(
    sdk: ASGIApp, streams: SessionStreams, session: str, scope: Scope, receive: Receive, send: Send
) -> None:
    """Passes a GET on, and tells `streams` for how long the SDK answers it with one: a second one it refuses."""
    opened = False

    async def sending(message: Message) -> None:
        nonlocal opened
        await send(message)
        if message["type"] == "http.response.start" and message["status"] == 200:
            opened = True
            streams.opened(session)

    try:
        await sdk(scope, receive, sending)
    finally:
        if opened:
            streams.closed(session)


UNUSED_SECONDS, IDLE_SECONDS = 10.0, 60.0
"""When there is no room for another session, one yields in which nothing was done for so long: its client is told 404 and
opens a new one (MCP, basic/transports, session management)."""
ENDING_SECONDS = 5.0
"""How long the end of a session waits for what is under way in it: the longest call."""
MOST_UNDER_WAY = 256
ID = b"mcp-session-id"
IN_USE = "There is a request with this id under way in this session."


@dataclass(slots=True, eq=False, kw_only=True)
class _Session(Slot):
    """One that is being opened has no `name` yet. `batches` are taken in its version. `posts` are under way in it, `quiet`
    is set while there are none."""

    name: str = ""
    batches: bool = False
    user: AuthenticatedUser | None = None
    posts: int = 0
    under_way: dict[str, tuple[types.RequestId, asyncio.Event]] = field(default_factory=dict)
    """Ids as the SDK compares them, as they are, and what is set when the request is over."""
    ending: bool = False
    quiet: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.quiet.set()

    def busy(self) -> bool:
        return self.posts > 0 or not self.name


class Sessions:
    """At most `most`. One is ended the way its client would end it, by a DELETE. `streams` is told on which there is one."""

    def __init__(
        self, sdk: ASGIApp, most: int, clock: Clock = time.monotonic, streams: SessionStreams | None = None
    ) -> None:
        self._sdk = sdk
        self._streams = SessionStreams() if streams is None else streams
        self._slots: Slots[_Session] = Slots(most, UNUSED_SECONDS, IDLE_SECONDS, clock)
        self._named: dict[str, _Session] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def takes_batches(self, scope: Scope) -> bool:
        """Tells it of the session that a request names, if it is its caller's."""
        session = self._named.get(_name_in(scope))
        return session is not None and session.batches and owner_of({"user": session.user}) == owner_of(scope)

    async def open(self, scope: Scope, receive: Receive, send: Send, *, batches: bool = False) -> None:
        """Passes an initialize on, and keeps the session that it opens."""
        session = _Session(holder=holder_of(scope), user=scope.get("user"), batches=batches)
        try:
            ended = self._slots.take(session)
        except NoRoom:
            await busy("There are as many sessions as this server keeps.")(scope, receive, send)
            return
        try:
            if ended is not None:
                await self._end(ended)
            await self._sdk(scope, receive, self._noting(session, send))
        finally:
            if not session.name:
                self._slots.leave(session)
            elif session not in self._slots:  # it had to yield before it had a name to be ended by
                await self._end(session)

    async def serve(self, posted: Posted | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on that names a session. `posted` is None for one without a message."""
        session = self._named.get(_name_in(scope))
        if session is None or owner_of({"user": session.user}) != owner_of(scope):
            await self._sdk(scope, receive, send)  # which says 404, whichever of the two it is
        elif session.ending:
            await refusal(INVALID_REQUEST, "Session not found", 404)(scope, receive, send)
        elif scope["method"] == "DELETE":
            await self._ended_by_client(session, send)
        elif scope["method"] != "POST":
            self._slots.use(session)
            # Nothing is kept to be told again: the SDK would answer nothing at all, which is HTTP 500.
            heard = {**scope, "headers": [each for each in scope["headers"] if each[0] != b"last-event-id"]}
            await serve_stream(self._sdk, self._streams, session.name, heard, receive, self._forgetting(session, send))
        elif (wrong := await _clash(session, posted)) is not None:
            await wrong(scope, receive, send)
        else:
            self._slots.use(session)
            with _under_way(session, posted.number if posted else None):
                await self._sdk(scope, receive, self._forgetting(session, send))
            self._slots.use(session)

    async def close_all(self) -> None:
        """Ends every session: it takes nothing more, and what it has taken is answered, for a moment."""
        for session in self._named.values():
            session.ending = True
        await settled(lambda: any(session.busy() for session in self._named.values()))
        for session in list(self._named.values()):
            await self._end(session)

    async def _ended_by_client(self, session: _Session, send: Send) -> None:
        """What was asked for before is answered first, and nothing is asked for any more: the SDK logs a traceback for each
        message that meets the end of its session."""
        session.ending = True
        try:
            async with asyncio.timeout(ENDING_SECONDS):
                await session.quiet.wait()
        except TimeoutError:
            pass
        await self._end(session, send)

    async def _end(self, session: _Session, send: Send | None = None) -> None:
        """Ends it by a request of our own: a body that never comes might keep the SDK from the client's."""
        session.ending = True
        headers = [(ID, session.name.encode("ascii"))]
        scope = {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"", "headers": headers}
        try:
            await self._sdk({**scope, "user": session.user} if session.user else scope, _nothing, send or _unheard)
        finally:
            self._forget(session)

    def _forget(self, session: _Session) -> None:
        self._named.pop(session.name, None)
        self._slots.leave(session)

    def _noting(self, session: _Session, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                session.name = _name_in(message)
                self._named[session.name] = session
            await send(message)

        return sending

    def _forgetting(self, session: _Session, send: Send) -> Send:
        """The SDK ends sessions by itself as well, and then says 404."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 404:
                self._forget(session)
            await send(message)

        return sending


async def _clash(session: _Session, posted: Posted | None) -> JSONResponse | None:
    """Refuses what would clash: the SDK answers the later of two requests with one id, and keeps the connection of the
    earlier for good. It takes 7 and "7" for one, which they are not: of these the later waits."""
    number = posted.number if posted is not None else None
    while number is not None and (other := session.under_way.get(str(number))) is not None:
        if other[0] == number:
            return refusal(INVALID_REQUEST, IN_USE, 400)
        with _under_way(session, None):  # the end of the session waits for it
            await other[1].wait()
    if session.posts >= MOST_UNDER_WAY:
        return refusal(INVALID_REQUEST, "This session has too many requests under way.", 503)
    return None


@contextmanager
def _under_way(session: _Session, number: types.RequestId | None) -> Iterator[None]:
    over = asyncio.Event()
    session.posts += 1
    session.quiet.clear()
    if number is not None:
        session.under_way[str(number)] = number, over
    try:
        yield
    finally:
        session.posts -= 1
        over.set()
        if number is not None:
            del session.under_way[str(number)]
        if not session.posts:
            session.quiet.set()


def _name_in(said: Scope | Message) -> str:
    return next((value.decode("latin-1") for name, value in said["headers"] if name == ID), "")


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


async def _unheard(message: Message) -> None:
    """There is nobody to answer to."""
