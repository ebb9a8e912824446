"""One connection that has become a WebSocket: uvicorn's, which reports to `Connections` as those of HTTP do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable
from typing import Any

from uvicorn._types import WebSocketEvent
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol
from wsproto.events import BytesMessage, CloseConnection, Ping, Pong, TextMessage

from server.transport.http.connection import Connections


class Unfinished:
    """Bytes of them, at most `most` together; a single one may hold as much of that as is left over, so that there is always
    room for one more (as `server.transport.http.bodies` shares out what it reads)."""

    def __init__(self, most: int) -> None:
        self._room = most
        self._held: dict[Hashable, int] = {}

    def hold(self, whose: Hashable, size: int) -> bool:
        """Counts what has come. Returns False when that is more than its share."""
        self._held[whose] = self._held.get(whose, 0) + size
        self._room -= size
        return self._held[whose] <= self._room

    def release(self, whose: Hashable) -> None:
        self._room += self._held.pop(whose, 0)


MOST_PIECES = 4096
"""In one message: each costs some microseconds, so that one of single bytes costs a hundred times what others do."""
SLICE_BYTES = 2048
"""Of what has come, read at a stretch: some hundreds of the smallest frames, two or three milliseconds."""
MESSAGE_SECONDS, FRAME_SECONDS = 0.002, 0.01
"""How long each message, and each control frame or piece of a message, keeps what comes after it waiting ..."""
BURST_SECONDS = 4.0
"""... but for so much of it: a message of many pieces, or what an agent says at once (leaky bucket; ITU-T I.371)."""
TOO_MUCH, TRY_LATER = 1008, 1013
LOGGER = "uvicorn.websocket"


class WebSocketConnection(WSProtocol):
    """A message that was begun has to be whole as soon as a request has, and what is sent has to be taken as soon. What
    comes is read in slices, with a turn of the loop between, and no faster than the bucket above: the rest waits with its
    client."""

    def __init__(self, *args: Any, all_of_them: Connections, unfinished: Unfinished, **named: Any) -> None:
        super().__init__(*args, **named)
        self.logger = logging.getLogger(LOGGER)
        self._all = all_of_them
        self._unfinished = unfinished
        self._pieces = 0
        self._pinged: Ping | None = None
        self._unsliced = bytearray()
        self._slicing: asyncio.Handle | None = None
        self._empty_at = 0.0
        """When the bucket has run empty."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)
        self._all.opened(self)
        self._all.asked(self)

    def data_received(self, data: bytes) -> None:
        self._unsliced += data
        if self._slicing is None and not self.read_paused:
            self._take_slice()
        elif self._unsliced:
            self.transport.pause_reading()

    def _take_slice(self) -> None:
        self._slicing = None
        if data := bytes(self._unsliced[:SLICE_BYTES]):
            del self._unsliced[:SLICE_BYTES]
            super().data_received(data)
        if not self.read_paused:
            self._go_on()

    def _go_on(self) -> None:
        """Takes the next slice when it may be taken, or reads on."""
        if self.transport.is_closing():
            return
        wait = self._empty_at - self.loop.time() - BURST_SECONDS
        if self._unsliced or wait > 0:
            self.transport.pause_reading()
            self._slicing = self.loop.call_later(max(0.0, wait), self._take_slice)
        else:
            self.transport.resume_reading()

    def _fill_bucket(self, seconds: float) -> None:
        self._empty_at = max(self._empty_at, self.loop.time()) + seconds

    async def receive(self) -> WebSocketEvent:
        """As uvicorn's, but that what is held here is next to be read."""
        message = await self.queue.get()
        if self.read_paused and self.queue.empty():
            self.read_paused = False
            self._go_on()
        return message

    def handle_message(self, event: TextMessage | BytesMessage) -> None:
        if event.frame_finished:
            self._fill_bucket(MESSAGE_SECONDS if event.message_finished else FRAME_SECONDS)
        self._pieces += 1
        size = len(event.data)
        if self._pieces > MOST_PIECES:
            self._give_up(TOO_MUCH, f"A message comes in at most {MOST_PIECES} pieces.")
        elif not event.message_finished and not self._unfinished.hold(self, size):
            self._give_up(TRY_LATER, "There are as many messages on their way as this server reads at once.")
        else:
            super().handle_message(event)
            self._count(finished=event.message_finished)

    def _count(self, *, finished: bool) -> None:
        if finished:
            self._pieces = 0
            self._unfinished.release(self)
            self._all.asked(self)
        else:
            self._all.awaited(self)

    def _give_up(self, code: int, reason: str) -> None:
        self.close_sent = True
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        if not self.transport.is_closing():
            self.transport.write(self.conn.send(CloseConnection(code=code, reason=reason)))
            self.transport.close()

    def handle_ping(self, event: Ping) -> None:
        """Of a client that does not read, only the last one is answered, when it reads again (RFC 6455, section 5.5.3):
        pongs would pile up here as quickly as it can send."""
        self._fill_bucket(FRAME_SECONDS)
        if self.writable.is_set():
            super().handle_ping(event)
        else:
            self._pinged = event

    def handle_pong(self, event: Pong) -> None:
        self._fill_bucket(FRAME_SECONDS)
        super().handle_pong(event)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._all.unread(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._all.taken(self)
        pinged, self._pinged = self._pinged, None
        if pinged is not None and not (self.close_sent or self.transport.is_closing()):
            super().handle_ping(pinged)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.closed(self)
        self._unfinished.release(self)
        self._unsliced.clear()
        if self._slicing is not None:
            self._slicing.cancel()
        super().connection_lost(exc)

    def ask_to_hurry(self) -> None:
        self._give_up(TOO_MUCH, "The message took too long.")

    def drop(self) -> None:
        self.transport.abort()

    def refuse(self) -> None:
        self.transport.abort()

    def serve_probes_only(self) -> None:
        self.transport.abort()
