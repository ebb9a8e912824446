"""`/mcp`: the Streamable HTTP transport with its sessions and JSON-RPC batches, and the older HTTP+SSE transport for clients
that were configured with this address."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import mcp_types as types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic_core import to_json
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.transport.http.authorization import ScopeCheck
from server.transport.http.bodies import customer_of_message, replay_body
from server.transport.http.direct_calls import DirectTools, serve_plain_request
from server.transport.http.responses import (
    ACCEPTED,
    EventResponse,
    PartSend,
    SdkSend,
    busy,
    dump_error,
    frame_event,
    refusal,
    refuse_unless_initialize,
    wait_until_idle,
)
from server.transport.http.slots import NoRoom, Slot, Slots, customer_of, holder_of, principal_of, user_of
from server.transport.http.sse import SseStreams
from server.transport.listeners import SessionStreams
from server.transport.messages import (
    BAD_ID,
    DUPLICATE_ID,
    InvalidBatch,
    Posted,
    has_batches,
    is_array,
    read_id,
    split_batch,
    trim_initialize,
)
from session.resilience.clocks import Clock

UNUSED_SECONDS, IDLE_SECONDS = 10.0, 60.0
"""Seconds without a request after which a new session can displace a session without any request yet, and any other. The
displaced client gets 404 and opens a new session (MCP, basic/transports, session management)."""
ENDING_SECONDS = 5.0
"""Maximum seconds for which a client's DELETE waits for the requests of its session: the default of `call_timeout_ms`."""
MOST_UNDER_WAY = 256
MOST_SESSIONS = 2000
"""Maximum sessions; each holds some 40 KB."""


@dataclass(slots=True, eq=False, kw_only=True)
class _Session(Slot):
    """A Streamable HTTP session; `name` is empty until the SDK has opened it."""

    name: str = ""
    batches: bool = False
    owner: str | None
    posts: dict[object, tuple[types.RequestId | None, asyncio.Event]] = field(default_factory=dict)
    """The running POSTs, each with its id and an event that is set when the POST ends. The key is the id as text, since the
    SDK compares ids as text. A POST without an id has a new object as its key."""
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

    def has_batches(self, scope: Scope) -> bool:
        """Returns True if the request names a session of its caller whose protocol version has batches."""
        session = self._find(scope)
        return session is not None and session.batches

    async def open(self, scope: Scope, receive: Receive, send: Send, *, batches: bool = False) -> None:
        """Passes an `initialize` request to the SDK, and registers the session that it opens. Responds 503 if there is no
        room. `batches`: the protocol version has batches."""
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
        """Serves a request with a session id through the SDK. Refuses a request whose session is ending or whose id is in
        use. `posted` is None if the request has no readable message."""
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
        """Refuses new messages, waits up to 0.3 s for the answers to accepted ones, and then ends every session."""
        for session in self._named.values():
            session.is_ending = True
        await wait_until_idle(lambda: any(session.busy() for session in self._named.values()))
        for session in list(self._named.values()):
            await self._end(session)

    def _find(self, scope: Scope) -> _Session | None:
        session = self._named.get(_name_in(scope))
        return session if session is not None and session.owner == principal_of(scope) else None

    async def _serve_stream(self, session: _Session, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a GET to the SDK. Tells `streams` when the stream opens and when it closes. Drops Last-Event-ID, to
        which the SDK would respond with HTTP 500, since no events are kept for a replay."""
        send = self._forgetting_send(session, send)
        headers = [each for each in scope["headers"] if each[0] != b"last-event-id"]
        is_open = False

        async def noting_send(message: Message) -> None:
            nonlocal is_open
            await send(message)
            if message["type"] == "http.response.start" and message["status"] == 200:
                is_open = True
                self._streams.set_stream(session.name, has_stream=True)

        try:
            await self._sdk({**scope, "headers": headers}, receive, noting_send)
        finally:
            if is_open:
                self._streams.set_stream(session.name, has_stream=False)

    async def _end(self, session: _Session, send: Send | None = None) -> None:
        """Ends a session by a DELETE of our own to the SDK, which might wait for ever for the body of the client's."""

        async def receive() -> Message:
            return {"type": "http.disconnect"}

        async def drop(message: Message) -> None: ...

        session.is_ending = True
        headers = [(b"mcp-session-id", session.name.encode("ascii"))]
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
    two such requests waits until the earlier has ended."""
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


class McpEndpoint:
    """The ASGI application of `/mcp`. The SDK's `manager` must run while it serves. `streams` serves SSE clients; its server
    and its limits are those of this endpoint too. `scopes` is None if bearer tokens have no scopes. `session_streams` is
    notified of open session streams. `direct` serves plain requests on the fast path; None leaves them to the SDK."""

    def __init__(
        self,
        streams: SseStreams,
        max_body_bytes: int,
        scopes: ScopeCheck | None = None,
        session_streams: SessionStreams | None = None,
        direct: DirectTools | None = None,
    ) -> None:
        self._streams = streams
        self._bodies, self._admission = streams.bodies, streams.admission
        self._scopes = scopes
        self._direct = direct
        self.manager = StreamableHTTPSessionManager(
            streams.mcp, session_idle_timeout=30 * 60.0, max_request_body_size=max_body_bytes
        )
        self.sessions = Sessions(self.manager.handle_request, MOST_SESSIONS, streams=session_streams)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if _wants_sse(scope["method"], headers):
            await self._streams.open(scope, receive, send)
            return
        if scope["method"] != "POST":
            # The bodies of other methods are dropped: the SDK would read them outside our limits.
            await self._pass_on(None, None, scope, replay_body(b"", receive), SdkSend(scope, send))
            return
        # Read here, since the SDK logs a traceback for each client that disconnects within its body.
        body = await self._bodies.read(receive, holder_of(scope), scope["headers"])
        if isinstance(body, Response):
            await body(scope, receive, send)
        elif is_array(body) and has_batches(_version(headers)) and self.sessions.has_batches(scope):
            await self._serve_batch(body, scope, receive, send)
        else:
            await self._serve_one(body, scope, receive, send)

    async def _serve_batch(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves the messages of a batch one after another. Responds with an SSE stream of the answers, with 202 if there
        are none, or with 400 if no message is valid."""
        try:
            entries = split_batch(body)
        except InvalidBatch as invalid:
            await refusal(types.INVALID_REQUEST, str(invalid))(scope, receive, send)
            return
        messages = [entry for entry in entries if isinstance(entry, bytes)]
        errors = [dump_error(entry) for entry in entries if not isinstance(entry, bytes)]
        if not messages:
            await JSONResponse(errors, 400)(scope, receive, send)
            return
        response, customer = EventResponse(send), customer_of_message(body, scope["headers"])
        for error in errors:
            await response.write(frame_event(to_json(error)))
        for message in messages:
            await self._bodies.queue.wait_turn(holder_of(scope), customer)
            if response.has_begun:
                await response.write(b"")  # waits until the socket has taken earlier events, as uvicorn does before a write
            await self._serve_one(message, dict(scope), replay_body(message, receive), PartSend(response, read_id(message)))
        if response.has_begun:
            await response.write(b"", more=False)
        else:
            await Response(status_code=ACCEPTED)(scope, receive, send)

    async def _serve_one(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        posted = Posted.from_body(body)
        if posted is not None:
            bad = refusal(types.INVALID_REQUEST, BAD_ID) if posted.has_bad_id else None
            refused = bad or self._admission.refusal(scope, posted.method, len(body))
            if refused is None and self._scopes is not None:
                refused = await self._scopes.refusal(scope, posted)
            if refused is not None:
                await refused(scope, receive, send)
                return
        answered = SdkSend(scope, send, posted.number if posted and posted.is_strict else None)
        try:
            await self._pass_on(body, posted, scope, receive, answered)
        finally:
            await answered.end()

    async def _pass_on(self, body: bytes | None, posted: Posted | None, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        is_stateless = _version(headers) not in HANDSHAKE_PROTOCOL_VERSIONS
        if body is not None:
            if posted is not None and posted.method == "initialize" and not is_stateless:
                body = trim_initialize(posted.message, self._admission.extensions)
            receive = replay_body(body, receive)
        if is_stateless:
            if not (posted and self._direct and await serve_plain_request(self._direct, posted, scope, receive, send)):
                await self.manager.handle_request(scope, receive, send)
        elif "mcp-session-id" in headers:
            await self.sessions.serve(posted, scope, receive, send)
        elif (refused := refuse_unless_initialize(body, posted)) is not None:
            await refused(scope, receive, send)
        else:
            version = posted.params.get("protocolVersion") if posted else None
            await self.sessions.open(scope, receive, send, batches=has_batches(version))


def _version(headers: Headers) -> str:
    """Returns the version in the header, else the SDK's default, since versions with batches have no such header."""
    return headers.get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION)


def _wants_sse(method: str, headers: Headers) -> bool:
    """Returns True for the GET of an SSE client. Streamable HTTP clients state a session or a protocol version instead."""
    is_streamable = "mcp-session-id" in headers or "mcp-protocol-version" in headers
    return method == "GET" and not is_streamable and "text/event-stream" in headers.get("accept", "")
