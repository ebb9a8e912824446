"""One HTTP connection: uvicorn's, which reports to `Connections` when it owes or is owed something."""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Protocol

import h11
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from server.transport.http.bodies import MOST_HEADER_BYTES, MOST_HEADERS, MOST_TARGET_BYTES

MOST_HEAD_BYTES = MOST_HEADER_BYTES + MOST_TARGET_BYTES
"""Of a head, or of what follows the last chunk, that is not whole yet."""
PIECE_BYTES = 8 * 1024
"""h11 bounds what is not whole, so that what comes in one piece passes: it is given small ones."""
MOST_CHUNKS = 1024
"""In one body. Each takes 7 µs: chunks of a byte cost a hundred times what other bytes do, before anybody has been asked
for a token."""
MOST_LINES = MOST_HEADERS + 2
HEAD_END = re.compile(rb"\n\r?\n")


class StrictParser(h11.Connection):
    """`refused` says what was wrong with a request that h11 would have taken."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MOST_HEAD_BYTES)
        self.refused: tuple[int, str] | None = None
        self._chunks = 0

    def next_event(self) -> Any:
        """Raises `h11.RemoteProtocolError`."""
        if self.their_state is h11.IDLE and _too_many_lines(self.trailing_data[0]):
            self._refuse(431, f"A request has at most {MOST_HEADERS} headers with {MOST_HEADER_BYTES} bytes.")
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = 0
            if {b"content-length", b"transfer-encoding"} <= {name for name, _ in event.headers}:
                self._refuse(400, "Content-Length and Transfer-Encoding exclude each other.")
        elif isinstance(event, h11.Data) and event.chunk_start:
            self._chunks += 1
            if self._chunks > MOST_CHUNKS:
                self._refuse(400, f"A body comes in at most {MOST_CHUNKS} chunks.")
        return event

    def _refuse(self, status: int, sentence: str) -> None:
        self.refused = status, sentence
        raise h11.RemoteProtocolError(sentence, error_status_hint=status)


def _too_many_lines(received: bytes) -> bool:
    if len(received) <= MOST_LINES:
        return False
    end = HEAD_END.search(received)
    return received.count(b"\n", 0, end.end() if end else len(received)) > MOST_LINES


class Beside:
    """One such room, as those see it who put the application together, start it and stop it."""

    def routes(self) -> list[BaseRoute]:
        """Lists what is served beside HTTP's own, behind the same gate."""
        return []

    def around(self, asgi: ASGIApp) -> ASGIApp:
        """Returns what serves the requests of both."""
        return asgi

    async def close_all(self) -> None:
        """Ends what is open as it should end."""


REQUEST_SECONDS = 30.0
"""From its first byte, for the first request from the connection on, to the end of its body: a megabyte at 35 KB/s."""
ANSWER_SECONDS = 30.0
"""How long bytes of an answer may wait for a client that reads none."""
FOR_PROBES = 8
"""Connections beyond all others: who asks whether a full server lives must not be told that it does not."""


class Connected(Protocol):
    """A connection as far as it is kept count of."""

    def ask_to_hurry(self) -> None:
        """Its request took too long: says so, and closes."""

    def drop(self) -> None:
        """Closes at once, whatever was still to be said."""

    def refuse(self) -> None:
        """There is no room for it: says so, and closes."""

    def serve_probes_only(self) -> None:
        """Refuses all but probes, whenever it is asked."""


class Connections:
    """At most `most` at once, and a few for probes. When one more comes, it takes the place of the one that has kept
    the server waiting for the longest: for another request, for the rest of one, or to take an answer. Nobody keeps
    others out by connecting and saying or hearing nothing, and whoever has just been answered does not lose its place
    to those who never asked."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock = clock
        self._open: set[Connected] = set()
        self._idle: OrderedDict[Connected, float] = OrderedDict()
        self._owing: OrderedDict[Connected, float] = OrderedDict()
        self._reading: OrderedDict[Connected, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def held(self) -> int:
        """How many would not give their place to another."""
        return len(self._open) - len({*self._idle, *self._owing, *self._reading})

    def opened(self, connection: Connected) -> None:
        if len(self._open) >= self.most:
            longest = self._yielding()
            if longest is not None:
                self.closed(longest)
                longest.drop()
            elif len(self._open) >= self.most + FOR_PROBES:
                connection.refuse()
                return
            if len(self._open) >= self.most:
                connection.serve_probes_only()
        self._open.add(connection)
        self.awaited(connection)

    def _yielding(self) -> Connected | None:
        longest = [next(iter(since.items())) for since in (self._idle, self._owing, self._reading) if since]
        return min(longest, key=itemgetter(1))[0] if longest else None

    def idle(self, connection: Connected) -> None:
        """It has its answer, and may stay for another request, but not for ever: that is left to keep-alive."""
        self._idle[connection] = self._clock()

    def awaited(self, connection: Connected) -> None:
        """It owes a request, or the rest of one."""
        self._idle.pop(connection, None)
        self._owing.setdefault(connection, self._clock())

    def asked(self, connection: Connected) -> None:
        """Its request is whole."""
        self._idle.pop(connection, None)
        self._owing.pop(connection, None)

    def unread(self, connection: Connected) -> None:
        """It does not take its answer as quickly as that is written."""
        self._reading.setdefault(connection, self._clock())

    def taken(self, connection: Connected) -> None:
        """It has taken all of it."""
        self._reading.pop(connection, None)

    def closed(self, connection: Connected) -> None:
        self._open.discard(connection)
        self._idle.pop(connection, None)
        self._owing.pop(connection, None)
        self._reading.pop(connection, None)

    def close_overdue(self) -> None:
        """Ends those that took too long; to be called every second or so."""
        for connection in _overdue(self._owing, self._clock() - REQUEST_SECONDS):
            connection.ask_to_hurry()
            self.asked(connection)
            self.unread(connection)  # an answer that says so may find no reader either
        for connection in _overdue(self._reading, self._clock() - ANSWER_SECONDS):
            connection.drop()
            self.taken(connection)


def _overdue(since: OrderedDict[Connected, float], latest: float) -> list[Connected]:
    found = []
    for connection, began in since.items():
        if began > latest:
            break
        found.append(connection)
    return found


class Upgrades(Beside):
    """`most` is how many connections there may be beside those of HTTP; around them is what serves both requests and what
    they turn into."""

    most: int = 0

    def options(self, connections: Connections) -> dict[str, Any]:
        """Returns what uvicorn has to be told of it."""
        return {"ws": "none"}


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
