"""What the server says over a WebSocket: a text frame for each message."""

from __future__ import annotations

from contextlib import suppress

from starlette.types import Send
from uvicorn.protocols.utils import ClientDisconnected

from server.transport.http.sse.messages import Outgoing

SUBPROTOCOL = "mcp"
NORMAL, GOING_AWAY, NOT_TEXT, UNPROVEN = 1000, 1001, 1003, 1008
"""Why a WebSocket is closed (RFC 6455, section 7.4.1)."""


class Answers(Outgoing):
    """One frame at a time: the next is handed over when the socket has taken the one before."""

    def __init__(self, send: Send) -> None:
        super().__init__(send)
        self.code = GOING_AWAY
        """Why the server will close it, as long as its client does not."""

    async def accept(self) -> None:
        """Raises `ClientDisconnected`."""
        await self._send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL})

    def _framed(self, text: bytes) -> bytes:
        return text

    async def _pass_on(self, data: bytes) -> None:
        with suppress(ClientDisconnected):  # it will be noticed by whoever listens, as on an SSE stream
            await self._send({"type": "websocket.send", "text": data.decode()})

    async def finish(self) -> None:
        self._closed = True
        with suppress(ClientDisconnected):
            await self._send({"type": "websocket.close", "code": self.code})
