"""HTTP connections, limited in number and time. httptools parses simple requests, and h11, which is stricter, all others."""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import h11
import httptools
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from server.transport.http.bodies import MOST_HEADER_BYTES, MOST_HEADERS, MOST_TARGET_BYTES
from server.transport.http.responses import wait_until_idle

logger = logging.getLogger(__name__)
MOST_HEAD_BYTES = MOST_HEADER_BYTES + MOST_TARGET_BYTES
"""Maximum bytes of an incomplete request head, or of trailers after the last chunk."""
PIECE_BYTES = 8 * 1024
"""Bytes passed to h11 at once, small because h11 limits only incomplete heads."""
MOST_CHUNKS = 128
"""Maximum chunks of one body. Each costs 10 µs before any token is checked, so that a body in one-byte chunks is costly."""
MOST_LINES = MOST_HEADERS + 2
HEAD_END = re.compile(rb"\n\r?\n")


class StrictParser(h11.Connection):
    """h11's parser with further limits. `refused` is the (status, reason) for what h11 itself would accept, or None."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MOST_HEAD_BYTES)
        self.refused: tuple[int, str] | None = None
        self._chunks = 0

    def next_event(self) -> Any:
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
    end = HEAD_END.search(received)
    return received.count(b"\n", 0, end.end() if end else len(received)) > MOST_LINES


REQUEST_SECONDS = 30.0
"""Timeout in seconds from the connection, or the first byte of a later request, to the body's end: 1 MB at 35 KB/s."""
ANSWER_SECONDS = 30.0
"""Timeout in seconds of a client that does not read its answer."""
LAST_SECONDS = 0.5
"""Timeout in seconds of such a client when the server stops."""
FOR_PROBES = 8
"""Connections beyond the maximum, for probes alone, so that a full server still answers them."""


class Connections:
    """The open connections: at most `most`, and a few more for health probes. If the server is full, a new connection
    replaces the one whose client has kept the server waiting longest, by not sending a request or the rest of one, or by
    not reading an answer. So idle and silent clients keep nobody out."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock = clock
        self._open: set[CountedConnection] = set()
        self._idle: OrderedDict[CountedConnection, float] = OrderedDict()
        self._incomplete: OrderedDict[CountedConnection, float] = OrderedDict()
        self._unread: OrderedDict[CountedConnection, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def count_held(self) -> int:
        """Returns the number of connections that a new connection cannot replace."""
        return len(self._open) - len({*self._idle, *self._incomplete, *self._unread})

    def add(self, connection: CountedConnection) -> None:
        if len(self._open) >= self.most:
            waiting = [next(iter(since.items())) for since in (self._idle, self._incomplete, self._unread) if since]
            if waiting:
                longest = min(waiting, key=itemgetter(1))[0]
                self.remove(longest)
                longest.drop()
            elif len(self._open) >= self.most + FOR_PROBES:
                connection.refuse()
                return
            if len(self._open) >= self.most:
                connection.serve_probes_only()
        self._open.add(connection)
        self.mark_incomplete(connection)

    def mark_idle(self, connection: CountedConnection) -> None:
        self._idle[connection] = self._clock()

    def mark_incomplete(self, connection: CountedConnection) -> None:
        """Marks a connection whose next request has not arrived completely."""
        self._idle.pop(connection, None)
        self._incomplete.setdefault(connection, self._clock())

    def mark_complete(self, connection: CountedConnection) -> None:
        self._idle.pop(connection, None)
        self._incomplete.pop(connection, None)

    def mark_unread(self, connection: CountedConnection) -> None:
        """Marks a connection whose client reads its answer more slowly than the server writes it."""
        self._unread.setdefault(connection, self._clock())

    def mark_read(self, connection: CountedConnection) -> None:
        self._unread.pop(connection, None)

    def remove(self, connection: CountedConnection) -> None:
        self._open.discard(connection)
        self.mark_complete(connection)
        self.mark_read(connection)

    def close_overdue(self) -> None:
        """Closes connections past `REQUEST_SECONDS` or `ANSWER_SECONDS`. Must be called about once a second."""
        for connection in _find_overdue(self._incomplete, self._clock() - REQUEST_SECONDS):
            connection.time_out()
            self.mark_complete(connection)
            self.mark_unread(connection)  # the answer of `time_out` may stay unread too
        for connection in _find_overdue(self._unread, self._clock() - ANSWER_SECONDS):
            connection.drop()
            self.mark_read(connection)

    async def drop_unread(self) -> None:
        """Gives clients `LAST_SECONDS` to read their answers, and then closes the connections of those that do not: uvicorn
        would cancel their requests with a traceback each, and wait for a WebSocket without end."""
        if not await wait_until_idle(lambda: bool(self._unread), LAST_SECONDS):
            logger.warning("closed connections whose clients do not read: %d", len(self._unread))
            for connection in list(self._unread):
                connection.drop()


def _find_overdue(since: OrderedDict[CountedConnection, float], latest: float) -> list[CountedConnection]:
    return [connection for connection, _ in itertools.takewhile(lambda item: item[1] <= latest, since.items())]


UNFINISHED = (h11.IDLE, h11.SEND_BODY)
"""h11 states of a client whose request is incomplete."""
OVERLOADED_ANSWER = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
REFUSED = b"HTTP/1.1 %d %b\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n\r\n%b"
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
UPGRADE_HEADERS = {
    b"host": "idna", b"connection": "ascii", b"upgrade": "ascii",
    b"sec-websocket-protocol": "ascii", b"sec-websocket-extensions": "ascii",
}  # fmt: skip
"""Headers of a handshake, and the encoding by which wsproto decodes them. It raises UnicodeError for anything else."""
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
FULL = Response(status_code=503, headers={"Retry-After": "1", "Connection": "close"})


class CountedConnection(asyncio.Protocol):
    """A connection of any protocol that reports its state to `Connections`. Its write buffer holds at most one message, so
    that a slow reader slows its sender (backpressure). If this connection replaces another, `predecessor` is the replaced
    one, which stays in `Connections` in place of both."""

    transport: asyncio.Transport
    app: Any

    def __init__(
        self, *args: Any, all_connections: Connections, predecessor: CountedConnection | None = None, **named: Any
    ) -> None:
        super().__init__(*args, **named)
        self._all = all_connections
        self._predecessor = predecessor or self

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)
        if self._predecessor is self:
            self._all.add(self._predecessor)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._all.mark_unread(self._predecessor)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._all.mark_read(self._predecessor)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.remove(self._predecessor)
        super().connection_lost(exc)

    def time_out(self) -> None:
        raise NotImplementedError("each kind of connection does it in its own protocol")

    def drop(self) -> None:
        self.transport.abort()

    def refuse(self) -> None:
        self.transport.write(OVERLOADED_ANSWER)
        self.transport.close()

    def serve_probes_only(self) -> None:
        app = self.app

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            await (app if scope["path"] in PROBES else FULL)(scope, receive, send)

        self.app = serve


class HttpConnection(CountedConnection, H11Protocol):
    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.conn = self._parser = StrictParser()
        self._is_upgraded = False

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            super().data_received(data[start : start + PIECE_BYTES])
            if self._is_upgraded or self.transport.is_closing():
                return
        if self.conn.their_state in UNFINISHED:
            self._all.mark_incomplete(self._predecessor)
        else:
            self._all.mark_complete(self._predecessor)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        if self.app is not self.config.loaded_app:  # this connection serves probes only
            self.refuse()
            return
        try:
            for name, value in event.headers:
                value.decode(UPGRADE_HEADERS.get(name, "latin-1"))
        except UnicodeError:
            self.send_400_response("The headers of a WebSocket handshake are ASCII, and Host is the name of a host.")
            return
        self._is_upgraded = True
        self._all.remove(self._predecessor)  # the WebSocket counts as a connection of its own
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state in UNFINISHED and not self.transport.is_closing():
            if self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
                self._all.mark_idle(self._predecessor)
            else:
                self._all.mark_incomplete(self._predecessor)

    def send_400_response(self, msg: str) -> None:
        """Sends the reason of a refusal, unless a response has begun, and disconnects client and application."""
        status, sentence = self._parser.refused or (400, msg)
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(REFUSED % (status, STATUS_PHRASES[status], len(sentence), sentence.encode("ascii")))
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def time_out(self) -> None:
        """Closes the connection. First sends 408 if a part of a request has arrived and no response is being sent."""
        has_begun = self.conn.their_state is h11.SEND_BODY or self.conn.trailing_data[0]
        if has_begun and not (self.cycle and self.cycle.response_started and not self.cycle.response_complete):
            self.transport.write(TOO_SLOW)
        self.transport.close()


# Plain (simple) requests are parsed in C by httptools, which for a cached call takes a fifth of the time of h11.
#
# A request is plain if both parsers read it alike: it has a complete head with one Host, no body or a Content-Length, and
# nothing follows its body. At any other request, h11 takes over the connection, from the request's first byte on. So every
# request is refused that h11 with our limits would refuse.


PLAIN_HEAD_END = b"\r\n\r\n"
NOT_PLAIN = frozenset({b"transfer-encoding", b"upgrade", b"expect", b"te", b"trailer", b"proxy-connection"})
"""Headers of requests that h11 has to parse. httptools takes Proxy-Connection for Connection."""
MOST_DIGITS = 20
"""Maximum digits of a Content-Length, as in h11."""


class NotPlain(Exception):
    """Raised for a request that h11 has to parse."""


class PlainRequests(CountedConnection, HttpToolsProtocol):
    """Serves requests that httptools and h11 read alike. At any other, h11's connection takes over, the `successor`."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._made_of = args, named
        self._head = b""
        """The bytes that contain a request's head, while it is parsed."""
        self._bytes_after_head = 0
        """Number of bytes received after the head."""
        self._body_bytes_left = 0
        """Number of bytes of the body still to come."""
        self._pipelined = b""
        """Bytes received after an unanswered request (pipelining)."""
        self.successor: HttpConnection | None = None

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if self._body_bytes_left:
            self._pipelined += data[self._body_bytes_left :]
            data = data[: self._body_bytes_left]
            self._body_bytes_left -= len(data)
            self.parser.feed_data(data)
        elif self.cycle is None or self.cycle.response_complete:
            self._begin(data)
        else:
            self._pipelined += data
        if self._pipelined and not self._body_bytes_left and self.cycle is not None and self.cycle.response_complete:
            self._begin_pipelined()
        elif self.successor is None:
            if self._pipelined:
                self.flow.pause_reading()
            if self._body_bytes_left or self.cycle.response_complete:
                self._all.mark_incomplete(self)
            else:
                self._all.mark_complete(self)

    def _begin_pipelined(self) -> None:
        data, self._pipelined = self._pipelined, b""
        self.data_received(data)

    def _begin(self, data: bytes) -> None:
        end = data.find(PLAIN_HEAD_END, 0, MOST_HEAD_BYTES)
        if end < 0 or any(data.find(fold, 0, end) >= 0 for fold in (b"\n ", b"\n\t")):
            self._hand_over(data)
            return
        self._head, self._bytes_after_head = data, len(data) - end - len(PLAIN_HEAD_END)
        before = self.cycle
        try:
            self.parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._hand_over(data)
        else:
            if self.cycle is before:  # blank lines, which httptools skips silently, and perhaps a part of a head
                self._hand_over(data)
        self._head = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value.rstrip(b" \t"))

    def on_headers_complete(self) -> None:
        """Starts a plain request. Raises `NotPlain` for any other, before the application sees it."""
        names = [name for name, _ in self.headers]
        if len(names) > MOST_HEADERS or names.count(b"host") != 1 or not NOT_PLAIN.isdisjoint(names):
            raise NotPlain
        if not self.url.startswith(b"/") or b"#" in self.url or self.parser.should_upgrade():
            raise NotPlain
        method = self.parser.get_method()
        # httptools accepts blank lines before the request line, and several spaces in it. Its answer to a HEAD has fewer
        # headers about the body than h11's.
        if method == b"HEAD" or not self._head.startswith(b"%b %b HTTP/1.1\r\n" % (method, self.url)):
            raise NotPlain
        written = next((value for name, value in self.headers if name == b"content-length"), b"0")
        if len(written) > MOST_DIGITS or self._bytes_after_head > (length := int(written)):
            raise NotPlain
        super().on_headers_complete()
        self._body_bytes_left = length - self._bytes_after_head

    def _hand_over(self, data: bytes) -> None:
        args, named = self._made_of
        self.successor = successor = HttpConnection(*args, predecessor=self, **named)
        successor.app = self.app
        self.connections.discard(self)
        successor.connection_made(self.transport)
        self.transport.set_protocol(successor)
        if self.flow.write_paused:  # the transport calls pause_writing once
            successor.pause_writing()
        successor.data_received(data)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._body_bytes_left:
            self._all.mark_incomplete(self)
        elif self._pipelined:
            self._begin_pipelined()
        else:
            self._all.mark_idle(self)

    def time_out(self) -> None:
        if self.successor is not None:
            self.successor.time_out()
            return
        if self._body_bytes_left and not (self.cycle.response_started and not self.cycle.response_complete):
            self.transport.write(TOO_SLOW)
        self.transport.close()
