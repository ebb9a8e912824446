"""One HTTP connection: uvicorn's, which reports to `Connections` when it owes or is owed something."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from server.transport.http.connection.connections import Connected, Connections
from server.transport.http.connection.parser import PIECE_BYTES, StrictParser

UNFINISHED = (h11.IDLE, h11.SEND_BODY)
"""The client's part of a request that is not whole."""
NO_ROOM = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
REFUSED = b"HTTP/1.1 %d %b\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n\r\n%b"
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
FULL = Response(status_code=503, headers={"Retry-After": "1", "Connection": "close"})


def probes_only(app: ASGIApp) -> ASGIApp:
    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await (app if scope["path"] in PROBES else FULL)(scope, receive, send)

    return serve


class HttpConnection(H11Protocol):
    """Nothing is buffered for writing beyond one message: what a client does not take waits with whoever sends it."""

    def __init__(self, *args: Any, all_of_them: Connections, known_as: Connected | None = None, **named: Any) -> None:
        """`known_as` is what counts as this connection already."""
        super().__init__(*args, **named)
        self.conn = self._parser = StrictParser()
        self._all = all_of_them
        self._counted = known_as is not None
        self._known_as: Connected = known_as or self
        self._upgraded = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)
        if not self._counted:
            self._all.opened(self._known_as)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            super().data_received(data[start : start + PIECE_BYTES])
            if self._upgraded or self.transport.is_closing():
                return
        if self.conn.their_state in UNFINISHED:
            self._all.awaited(self._known_as)
        else:
            self._all.asked(self._known_as)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        if self.app is not self.config.loaded_app:
            self.refuse()
            return
        self._upgraded = True
        self._all.closed(self._known_as)  # what it becomes is counted by itself
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state in UNFINISHED and not self.transport.is_closing():
            if self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
                self._all.idle(self._known_as)
            else:
                self._all.awaited(self._known_as)

    def send_400_response(self, msg: str) -> None:
        """Says what was wrong, unless an answer has begun, and closes; who works on the request learns that it is over."""
        status, sentence = self._parser.refused or (400, msg)
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(REFUSED % (status, STATUS_PHRASES[status], len(sentence), sentence.encode("ascii")))
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._all.unread(self._known_as)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._all.taken(self._known_as)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.closed(self._known_as)
        super().connection_lost(exc)

    def ask_to_hurry(self) -> None:
        """A connection on which nothing was ever said is closed without a word."""
        said_something = self.conn.their_state is h11.SEND_BODY or self.conn.trailing_data[0]
        if said_something and not (self.cycle and self.cycle.response_started and not self.cycle.response_complete):
            self.transport.write(TOO_SLOW)
        self.transport.close()

    def drop(self) -> None:
        self.transport.abort()

    def serve_probes_only(self) -> None:
        self.app = probes_only(self.app)

    def refuse(self) -> None:
        self.transport.write(NO_ROOM)
        self.transport.close()
