"""The stream of a session, on which its client hears what it has not asked for."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.transport.changes.session_streams import SessionStreams


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
