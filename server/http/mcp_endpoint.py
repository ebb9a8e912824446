"""/mcp: Streamable HTTP in both eras, and an SSE stream for clients that were configured with this address for one."""

from __future__ import annotations

from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from server.http.answers import busy
from server.http.refusals import begins_session, in_plain_words, initialising
from server.http.streams import SseStreams

IDLE_SECONDS = 30 * 60.0
MOST_SESSIONS = 10_000


class McpEndpoint:
    """The session manager is the SDK's; `sessions` has to be entered once, for as long as the app serves."""

    def __init__(self, mcp: Server[Any], streams: SseStreams, max_body_bytes: int) -> None:
        self._streams = streams
        self._max_body_bytes = max_body_bytes
        self.sessions = StreamableHTTPSessionManager(
            mcp, session_idle_timeout=IDLE_SECONDS, max_request_body_size=max_body_bytes
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if _wants_sse(scope["method"], headers):
            await self._streams.open(scope, receive, send)
        elif self._is_full() and "mcp-session-id" not in headers:
            await busy("There are as many sessions as this server keeps.")(scope, receive, send)
        elif not begins_session(scope):
            await self.sessions.handle_request(scope, receive, in_plain_words(send))
        elif body := await initialising(scope, receive, send, self._max_body_bytes):
            await self.sessions.handle_request(scope, body, in_plain_words(send))

    async def close_all(self) -> None:
        """Ends every session's streams as responses should end."""
        # The manager's own end only cancels, which cuts them off.
        for transport in list(self.sessions._server_instances.values()):
            await transport.terminate()

    def _is_full(self) -> bool:
        # The manager does not tell how many sessions it keeps, and has no cap of its own.
        return len(self.sessions._server_instances) >= MOST_SESSIONS


def _wants_sse(method: str, headers: Headers) -> bool:
    """A GET that no Streamable HTTP client would send: theirs name a session or at least a protocol version."""
    streamable = "mcp-session-id" in headers or "mcp-protocol-version" in headers
    return method == "GET" and not streamable and "text/event-stream" in headers.get("accept", "")
