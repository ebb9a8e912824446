"""`/mcp`: the Streamable HTTP transport with JSON-RPC batches, and the older HTTP+SSE transport for clients that were
configured with this address."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from server.transport.http.authorization import ScopeCheck
from server.transport.http.bodies import customer_of_message, replay_body
from server.transport.http.direct_calls import PlainCalls
from server.transport.http.responses import EventResponse, SdkSend, frame_event, is_stream, refusal, refuse_unless_initialize
from server.transport.http.slots import holder_of
from server.transport.http.sse import SseStreams
from server.transport.http.streamable_sessions import Sessions
from server.transport.listeners import SessionStreams
from server.transport.messages import (
    BAD_ID,
    InvalidBatch,
    Json,
    Posted,
    error_for,
    has_batches,
    is_array,
    read_id,
    split_batch,
    trim_initialize,
)

ACCEPTED = 202


@dataclass(eq=False)
class _PartSend:
    """An ASGI `send` for the response to one message of a batch, the one with the id `number`. Passes SSE events on, and
    turns a JSON response into an event."""

    response: EventResponse
    number: Any
    _status: int = ACCEPTED
    _is_stream: bool = False
    _body: bytes = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status, self._is_stream = message["status"], is_stream(message["headers"])
            return
        body = message.get("body", b"")
        if self._is_stream:
            if body:
                await self.response.write(body)
            return
        self._body += body
        if not message.get("more_body", False) and self._status != ACCEPTED and self.number is not None:
            await self.response.write(_frame(self._answer()))

    def _answer(self) -> Json:
        try:
            answer: Any = json.loads(self._body)
        except ValueError:
            answer = None
        if isinstance(answer, dict) and "jsonrpc" in answer:
            return {**answer, "id": self.number}
        code = types.INTERNAL_ERROR if self._status == 503 else types.INVALID_REQUEST
        return _dump_error(error_for(self._body.decode("utf-8", "replace").strip(), self.number, code))


def _frame(message: Json) -> bytes:
    return frame_event(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode())


def _dump_error(error: types.JSONRPCError) -> Json:
    return error.model_dump(by_alias=True, mode="json", exclude_unset=True)


MOST_SESSIONS = 2000
"""Maximum sessions; each holds some 40 KB."""


class McpEndpoint:
    """The ASGI application of `/mcp`. The SDK's `manager` must run while it serves. `streams` serves SSE clients; its server
    and its limits are those of this endpoint too. `scopes` is None if bearer tokens have no scopes. `session_streams` is
    notified of open session streams."""

    def __init__(
        self,
        streams: SseStreams,
        max_body_bytes: int,
        scopes: ScopeCheck | None = None,
        session_streams: SessionStreams | None = None,
    ) -> None:
        self._streams = streams
        self._bodies, self._admission = streams.bodies, streams.admission
        self._scopes = scopes
        self._plain_calls = PlainCalls(streams.mcp, streams.direct) if streams.direct else None
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
        errors = [_dump_error(entry) for entry in entries if not isinstance(entry, bytes)]
        if not messages:
            await JSONResponse(errors, 400)(scope, receive, send)
            return
        response, customer = EventResponse(send), customer_of_message(body, scope["headers"])
        for error in errors:
            await response.write(_frame(error))
        for message in messages:
            await self._bodies.queue.wait_turn(holder_of(scope), customer)
            if response.has_begun:
                await response.write(b"")  # waits until the socket has taken the others, as uvicorn does before each write
            await self._serve_one(message, dict(scope), replay_body(message, receive), _PartSend(response, read_id(message)))
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
            if not (posted and self._plain_calls and await self._plain_calls.serve(posted, scope, receive, send)):
                await self.manager.handle_request(scope, receive, send)
        elif "mcp-session-id" in headers:
            await self.sessions.serve(posted, scope, receive, send)
        elif (refused := refuse_unless_initialize(body, posted)) is not None:
            await refused(scope, receive, send)
        else:
            version = posted.params.get("protocolVersion") if posted else None
            await self.sessions.open(scope, receive, send, batches=has_batches(version))


def _version(headers: Headers) -> str:
    """Returns the protocol version in the header. Without a header, returns the SDK's default, since versions with batches
    have no such header."""
    return headers.get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION)


def _wants_sse(method: str, headers: Headers) -> bool:
    """Returns True for the GET of an SSE client. Streamable HTTP clients state a session or a protocol version instead."""
    is_streamable = "mcp-session-id" in headers or "mcp-protocol-version" in headers
    return method == "GET" and not is_streamable and "text/event-stream" in headers.get("accept", "")
