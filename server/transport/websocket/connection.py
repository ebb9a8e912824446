from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

from uvicorn._types import WebSocketEvent
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol
from wsproto.events import BytesMessage, CloseConnection, Ping, Pong, Request, TextMessage

from server.transport.http.bodies import TOTAL_FACTOR, UnfinishedMessages
from server.transport.http.connection import Connections, CountedConnection
from session.resilience.lru import Lru

MOST_PIECES = 4096
"""Maximum frames of one message: a message of one-byte frames costs a hundred times as much as others."""
SLICE_BYTES = 2048
"""Bytes parsed per round of the event loop: some hundreds of the smallest frames, two or three milliseconds."""
MESSAGE_SECONDS, FRAME_SECONDS = 0.002, 0.01
"""Seconds added to the leaky bucket by each message, and by each control frame or non-final frame of a message."""
BURST_SECONDS = 4.0
"""Level of the leaky bucket, in seconds, above which reading pauses (ITU-T I.371): 2000 messages, or 400 other frames."""
MOST_CALLERS = 10_000
"""Maximum client addresses whose leaky bucket outlives its connection."""
TOO_MUCH, TRY_LATER = 1008, 1013
LOGGER = "uvicorn.websocket"


def websocket_options(connections: Connections, most_bytes: int) -> dict[str, Any]:
    """Returns options of uvicorn's configuration for WebSockets with messages of at most `most_bytes`, which count in
    `connections`. Keeps uvicorn from logging each with its address."""
    logging.getLogger(LOGGER).setLevel(logging.ERROR)
    unfinished, buckets = UnfinishedMessages(TOTAL_FACTOR * most_bytes), Lru[str, float](MOST_CALLERS)
    return {
        "ws": partial(WebSocketConnection, all_connections=connections, unfinished=unfinished, buckets=buckets),
        "ws_max_size": most_bytes,
        "ws_per_message_deflate": False,  # a small frame could inflate to any size
    }


class WebSocketConnection(CountedConnection, WSProtocol):
    """uvicorn's WebSocket connection with the time limits of HTTP requests, counted by `Connections`.

    Bytes are parsed in slices, one per round of the event loop, and no faster than a leaky bucket allows (backpressure). A
    new connection begins with the fullest bucket of its client address, so that reconnecting brings no new burst."""

    def __init__(self, *args: Any, unfinished: UnfinishedMessages, buckets: Lru[str, float], **named: Any) -> None:
        super().__init__(*args, **named)
        self._buckets = buckets
        """By client address, the time at which the fullest bucket of its connections is empty."""
        self._caller = ""
        self.logger = logging.getLogger(LOGGER)
        self._unfinished = unfinished
        self._pieces = 0
        self._unanswered_ping: Ping | None = None
        self._unread = bytearray()
        self._next_slice: asyncio.Handle | None = None
        self._empty_at = 0.0
        """The time at which the bucket is empty, by the loop's clock."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._all.mark_complete(self)

    def handle_connect(self, event: Request) -> None:
        self._caller = self.client[0] if self.client else ""
        self._empty_at = min(self._buckets.use(self._caller) or 0.0, self.loop.time() + BURST_SECONDS)
        super().handle_connect(event)

    def data_received(self, data: bytes) -> None:
        self._unread += data
        if self._next_slice is None and not self.read_paused:
            self._read_slice()
        elif self._unread:
            self.transport.pause_reading()

    def _read_slice(self) -> None:
        self._next_slice = None
        if data := bytes(self._unread[:SLICE_BYTES]):
            del self._unread[:SLICE_BYTES]
            super().data_received(data)
        if not self.read_paused:
            self._continue()

    def _continue(self) -> None:
        """Schedules the next slice for when the bucket allows it, or resumes reading from the socket."""
        if self.transport.is_closing():
            return
        wait = self._empty_at - self.loop.time() - BURST_SECONDS
        if self._unread or wait > 0:
            self.transport.pause_reading()
            self._next_slice = self.loop.call_later(max(0.0, wait), self._read_slice)
        else:
            self.transport.resume_reading()

    def _fill_bucket(self, seconds: float) -> None:
        self._empty_at = max(self._empty_at, self.loop.time()) + seconds
        self._buckets.put(self._caller, max(self._empty_at, self._buckets.peek(self._caller) or 0.0))

    async def receive(self) -> WebSocketEvent:
        """Receives a message as uvicorn does, but parses the bytes that are already here before reading more."""
        message = await self.queue.get()
        if self.read_paused and self.queue.empty():
            self.read_paused = False
            self._continue()
        return message

    def handle_message(self, event: TextMessage | BytesMessage) -> None:
        if event.frame_finished:
            self._fill_bucket(MESSAGE_SECONDS if event.message_finished else FRAME_SECONDS)
        self._pieces += 1
        if self._pieces > MOST_PIECES:
            self._give_up(TOO_MUCH, f"A message comes in at most {MOST_PIECES} pieces.")
        elif not event.message_finished and not self._unfinished.hold(self, len(event.data)):
            self._give_up(TRY_LATER, "There are as many messages on their way as this server reads at once.")
        else:
            super().handle_message(event)
            if event.message_finished:
                self._pieces = 0
                self._unfinished.release(self)
                self._all.mark_complete(self)
            else:
                self._all.mark_incomplete(self)

    def _give_up(self, code: int, reason: str) -> None:
        self.close_sent = True
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        if not self.transport.is_closing():
            self.transport.write(self.conn.send(CloseConnection(code=code, reason=reason)))
            self.transport.close()

    def handle_ping(self, event: Ping) -> None:
        """Answers a ping at once if the client reads. Otherwise keeps only the last ping, and answers it when the client
        reads again (RFC 6455, section 5.5.3), so that unread pongs do not pile up."""
        self._fill_bucket(FRAME_SECONDS)
        if self.writable.is_set():
            super().handle_ping(event)
        else:
            self._unanswered_ping = event

    def handle_pong(self, event: Pong) -> None:
        self._fill_bucket(FRAME_SECONDS)
        super().handle_pong(event)

    def resume_writing(self) -> None:
        super().resume_writing()
        ping, self._unanswered_ping = self._unanswered_ping, None
        if ping is not None and not (self.close_sent or self.transport.is_closing()):
            super().handle_ping(ping)

    def connection_lost(self, exc: Exception | None) -> None:
        self._unfinished.release(self)
        self._unread.clear()
        if self._next_slice is not None:
            self._next_slice.cancel()
        super().connection_lost(exc)

    def time_out(self) -> None:
        self._give_up(TOO_MUCH, "The message took too long.")

    refuse = serve_probes_only = CountedConnection.drop
