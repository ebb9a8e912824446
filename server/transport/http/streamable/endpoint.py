"""/mcp: Streamable HTTP in both eras, and an SSE stream for clients that were configured with this address for one."""

from __future__ import annotations

from functools import partial
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.telemetry.answers import told_when_sent
from server.transport.batches.split import has_batches, is_array
from server.transport.changes.session_streams import SessionStreams
from server.transport.http.bounds.admission import Admission
from server.transport.http.bounds.bodies import Bodies, read_again
from server.transport.http.bounds.fair_queue import customer_of
from server.transport.http.bounds.holders import holder_of
from server.transport.http.bounds.posted import Posted, trimmed_initialize
from server.transport.http.scope_check import ScopeCheck
from server.transport.http.sse.direct import DirectTools
from server.transport.http.sse.streams import SseStreams
from server.transport.http.streamable.answered import Answered
from server.transport.http.streamable.batch import serve_batch
from server.transport.http.streamable.plain_calls import PlainCalls
from server.transport.http.streamable.refusals import PlainRefusals, no_initialize
from server.transport.http.streamable.sessions import Sessions

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
