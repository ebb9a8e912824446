"""/mcp: Streamable HTTP in both eras, and an SSE stream for clients that were configured with this address for one."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from server.transport.http.answers import Answered, PlainRefusals, no_initialize, refusal
from server.transport.http.bodies import Admission, Bodies, Posted, customer_of, read_again, trimmed_initialize
from server.transport.http.direct_calls import DirectTools
from server.transport.http.plain_calls import PlainCalls
from server.transport.http.responses import told_when_sent
from server.transport.http.scope_check import ScopeCheck
from server.transport.http.slots import holder_of
from server.transport.http.sse import SseStreams
from server.transport.http.streamable_sessions import Sessions
from server.transport.http.streams import HEADERS
from server.transport.listeners import SessionStreams
from server.transport.messages import NoBatch, has_batches, id_of, is_array, refused, split

One = Callable[[bytes, Scope, Receive, Send], Coroutine[Any, Any, None]]
"""Serves one message that was posted."""
ACCEPTED = 202


async def serve_batch(
    body: bytes, one: One, turn: Callable[[], Awaitable[None]], scope: Scope, receive: Receive, send: Send
) -> None:
    """Answers with a stream of events, with 202 where nothing is to be answered, or, where nothing is served, with 400 and
    what is wrong with each. `turn` waits until a message of this caller may go on."""
    try:
        entries = split(body)
    except NoBatch as none:
        await refusal(types.INVALID_REQUEST, str(none))(scope, receive, send)
        return
    messages = [entry for entry in entries if isinstance(entry, bytes)]
    errors = [_plain(entry) for entry in entries if not isinstance(entry, bytes)]
    if not messages:
        await JSONResponse(errors, 400)(scope, receive, send)
        return
    together = _Together(send)
    for error in errors:
        await together.event(error)
    for message in messages:
        await turn()
        await together.taken()
        await one(message, dict(scope), read_again(message, receive), _Part(together, id_of(message)))
    if together.begun:
        await together.end()
    else:
        await Response(status_code=ACCEPTED)(scope, receive, send)


class _Together:
    """The one response. It begins with the first event."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def event(self, message: dict[str, Any]) -> None:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        await self.write(b"event: message\r\ndata: %b\r\n\r\n" % text.encode())

    async def write(self, events: bytes) -> None:
        """Writes whole events."""
        if not self.begun:
            self.begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await self._send({"type": "http.response.body", "body": events, "more_body": True})

    async def taken(self) -> None:
        """Waits until the socket has taken what was written: nothing is, and the server waits before each piece."""
        if self.begun:
            await self._send({"type": "http.response.body", "body": b"", "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


class _Part:
    """A `send` for the response to one message: its events go on as they come, and a refusal becomes one."""

    def __init__(self, together: _Together, number: Any) -> None:
        self._together = together
        self._number = number
        self._status = ACCEPTED
        self._streams = False
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._streams = dict(message["headers"]).get(b"content-type", b"").startswith(b"text/event-stream")
            return
        body = message.get("body", b"")
        if self._streams:
            if body:
                await self._together.write(body)
            return
        self._body += body
        if not message.get("more_body", False) and self._status != ACCEPTED and self._number is not None:
            await self._together.event(self._answer())

    def _answer(self) -> dict[str, Any]:
        try:
            answer: Any = json.loads(self._body)
        except ValueError:
            answer = None
        if isinstance(answer, dict) and "jsonrpc" in answer:
            return {**answer, "id": self._number}
        code = types.INTERNAL_ERROR if self._status == 503 else types.INVALID_REQUEST
        return _plain(refused(self._body.decode("utf-8", "replace").strip(), self._number, code))


def _plain(error: types.JSONRPCError) -> dict[str, Any]:
    return error.model_dump(by_alias=True, mode="json", exclude_unset=True)


IDLE_SECONDS = 30 * 60.0
MOST_SESSIONS = 2000
"""A session holds some 40 KB."""


class McpEndpoint:
    """The session manager is the SDK's; `manager` has to be entered once, for as long as the app serves."""

    def __init__(
        self,
        mcp: Server[Any],
        streams: SseStreams,
        bodies: Bodies,
        admission: Admission,
        max_body_bytes: int,
        scopes: ScopeCheck | None = None,
        session_streams: SessionStreams | None = None,
        direct: DirectTools | None = None,
    ) -> None:
        """`scopes` is None where no bearer has any; `session_streams` is told of the streams of sessions; `direct` takes
        plain calls of the 2026 era past the SDK's dispatcher."""
        self._streams = streams
        self._bodies = bodies
        self._admission = admission
        self._scopes = scopes
        self._calls = PlainCalls(mcp, direct) if direct else None
        self.manager = StreamableHTTPSessionManager(
            mcp, session_idle_timeout=IDLE_SECONDS, max_request_body_size=max_body_bytes
        )
        self.sessions = Sessions(self.manager.handle_request, MOST_SESSIONS, streams=session_streams)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _wants_sse(scope["method"], Headers(scope=scope)):
            await self._streams.open(scope, receive, send)
            return
        if scope["method"] != "POST":
            # What else has a body has none to speak of: the SDK would read and keep it, uncounted.
            await self._pass_on(None, None, scope, read_again(b"", receive), PlainRefusals(send))
            return
        # Not left to the SDK, which logs a traceback for each client that goes away before the end of its body.
        body = await self._bodies.read(receive, holder_of(scope), scope["headers"])
        if isinstance(body, Response):
            await body(scope, receive, send)
        elif is_array(body) and _has_batches(scope) and self.sessions.takes_batches(scope):
            turn = partial(self._bodies.turn, holder_of(scope), customer_of(body, scope["headers"]))
            await serve_batch(body, self._posted, turn, scope, receive, send)
        else:
            await self._posted(body, scope, receive, send)

    async def _posted(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one message."""
        send = told_when_sent(scope, PlainRefusals(send))
        posted = Posted.of_body(body)
        refused = None if posted is None else await self._refusal(scope, posted)
        if refused is not None:
            await refused(scope, receive, send)
            return
        answered = Answered(send, body)
        try:
            await self._pass_on(body, posted, scope, receive, answered)
        finally:
            await answered.end()

    async def _refusal(self, scope: Scope, posted: Posted) -> Response | None:
        refused = self._admission.refusal(scope, posted)
        if refused is not None or self._scopes is None:
            return refused
        return await self._scopes.refusal(scope, posted)

    async def _pass_on(self, body: bytes | None, posted: Posted | None, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        stateless = headers.get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION) not in HANDSHAKE_PROTOCOL_VERSIONS
        if body is not None:
            introduces = posted is not None and posted.method == "initialize" and not stateless
            extensions = self._admission.extensions
            receive = read_again(trimmed_initialize(body, extensions) if introduces else body, receive)
        if stateless:
            if not (body and self._calls and await self._calls.serve(body, scope, receive, send)):
                await self.manager.handle_request(scope, receive, send)
        elif "mcp-session-id" in headers:
            await self.sessions.serve(posted, scope, receive, send)
        elif (refused := no_initialize(body, posted)) is not None:
            await refused(scope, receive, send)
        else:
            asked = posted.params.get("protocolVersion") if posted else None
            await self.sessions.open(scope, receive, send, batches=has_batches(asked))


def _has_batches(scope: Scope) -> bool:
    """Versions that have them know no header that says so."""
    return has_batches(Headers(scope=scope).get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION))


def _wants_sse(method: str, headers: Headers) -> bool:
    """Tells a GET that no Streamable HTTP client would send: theirs name a session or at least a protocol version."""
    streamable = "mcp-session-id" in headers or "mcp-protocol-version" in headers
    return method == "GET" and not streamable and "text/event-stream" in headers.get("accept", "")
