"""/mcp: Streamable HTTP in both eras, and an SSE stream for clients that were configured with this address for one."""

from __future__ import annotations

from typing import Any

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.http.answers import busy
from server.http.bodies import Bodies, read_again
from server.http.held_answer import HeldAnswer
from server.http.refusals import begins_session, in_plain_words, no_initialize
from server.http.streams import SseStreams
from server.telemetry.answers import told_when_sent

IDLE_SECONDS = 30 * 60.0
MOST_SESSIONS = 2000
"""A session holds some 40 KB."""
YIELDS_SECONDS = 60.0
"""When there is no room for another session, the one that was not used for the longest gives its place, if it is as long
as this: its client is told 404 and opens a new one (MCP, basic/transports, session management)."""


class McpEndpoint:
    """The session manager is the SDK's; `sessions` has to be entered once, for as long as the app serves."""

    def __init__(self, mcp: Server[Any], streams: SseStreams, bodies: Bodies, max_body_bytes: int) -> None:
        self._streams = streams
        self._bodies = bodies
        self.sessions = StreamableHTTPSessionManager(
            mcp, session_idle_timeout=IDLE_SECONDS, max_request_body_size=max_body_bytes
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _wants_sse(scope["method"], Headers(scope=scope)):
            await self._streams.open(scope, receive, send)
            return
        body = None
        if scope["method"] == "POST":
            # Not left to the SDK, which logs a traceback for each client that goes away before the end of its body.
            read = await self._bodies.read(receive)
            if isinstance(read, Response):
                await read(scope, receive, send)
                return
            body = read
            receive = read_again(body, receive)
        told = told_when_sent(scope, in_plain_words(send))
        if begins_session(scope):
            await self._begin_session(body, scope, receive, told)
        else:
            await self.sessions.handle_request(scope, receive, told)

    async def _begin_session(self, body: bytes | None, scope: Scope, receive: Receive, send: Send) -> None:
        if (refused := no_initialize(body)) is not None:
            await refused(scope, receive, send)
        elif not self._has_room():
            await busy("There are as many sessions as this server keeps.")(scope, receive, send)
        else:
            answer = HeldAnswer()
            await self.sessions.handle_request(scope, receive, answer.take)
            await answer.pass_on(send)

    async def close_all(self) -> None:
        """Ends every session's streams as responses should end."""
        # The manager's own end only cancels, which cuts them off.
        for transport in list(self.sessions._server_instances.values()):
            await transport.terminate()

    def _has_room(self) -> bool:
        # The manager does not tell how many sessions it keeps, and has no cap of its own.
        kept = self.sessions._server_instances
        if len(kept) < MOST_SESSIONS:
            return True
        unused_since = {name: each.idle_scope.deadline - IDLE_SECONDS for name, each in kept.items() if each.idle_scope}
        longest = min(unused_since, key=unused_since.__getitem__, default="")
        if not longest or anyio.current_time() - unused_since[longest] < YIELDS_SECONDS:
            return False
        ended = kept.pop(longest).idle_scope
        assert ended is not None
        ended.cancel()  # the manager's own way to end a session that was idle for too long
        return True


def _wants_sse(method: str, headers: Headers) -> bool:
    """A GET that no Streamable HTTP client would send: theirs name a session or at least a protocol version."""
    streamable = "mcp-session-id" in headers or "mcp-protocol-version" in headers
    return method == "GET" and not streamable and "text/event-stream" in headers.get("accept", "")
