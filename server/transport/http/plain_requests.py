"""HTTP connections whose plain requests are parsed in C (httptools), at a fifth of h11's cost for a cached call.

Only requests that both parsers read alike go this way: a whole head with one Host, at most a Content-Length, and nothing
behind the body. Everything else, including what httptools refuses, is given to h11 from the first byte of the request on,
with the rest of the connection. So nothing passes that h11 with our bounds (`connection.py`) would refuse.
"""

from __future__ import annotations

from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from server.transport.http.bodies import MOST_HEADERS
from server.transport.http.connection import MOST_HEAD_BYTES, TOO_SLOW, CountedConnection, HttpConnection

HEAD_END = b"\r\n\r\n"
NOT_PLAIN = frozenset({b"transfer-encoding", b"upgrade", b"expect", b"te", b"trailer", b"proxy-connection"})
"""httptools takes the last one for Connection."""
MOST_DIGITS = 20
"""Most digits of a length, as in h11."""


class NotPlain(Exception):
    """A request for h11."""


class PlainRequests(CountedConnection, HttpToolsProtocol):
    """Serves plain requests. From the first other request on its `successor` serves the connection."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._made_of = args, named
        self._head = b""
        """The bytes with a request's head, while it begins."""
        self._behind = 0
        """Bytes that came behind the head."""
        self._missing = 0
        """Bytes of a body that are still to come."""
        self._held = b""
        """Bytes behind an unanswered request."""
        self.successor: HttpConnection | None = None

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if self._missing:
            self._held += data[self._missing :]
            data = data[: self._missing]
            self._missing -= len(data)
            self.parser.feed_data(data)
        elif self.cycle is None or self.cycle.response_complete:
            self._begin(data)
        else:
            self._held += data
        if self._held and not self._missing and self.cycle is not None and self.cycle.response_complete:
            self._begin_held()
        elif self.successor is None:
            if self._held:
                self.flow.pause_reading()
            if self._missing or self.cycle.response_complete:
                self._all.mark_incomplete(self)
            else:
                self._all.mark_complete(self)

    def _begin_held(self) -> None:
        data, self._held = self._held, b""
        self.data_received(data)

    def _begin(self, data: bytes) -> None:
        """Begins the request that begins with `data`, or leaves it to h11."""
        end = data.find(HEAD_END, 0, MOST_HEAD_BYTES)
        if end < 0 or any(data.find(fold, 0, end) >= 0 for fold in (b"\n ", b"\n\t")):
            self._hand_over(data)
            return
        self._head, self._behind = data, len(data) - end - len(HEAD_END)
        before = self.cycle
        try:
            self.parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._hand_over(data)
        else:
            if self.cycle is before:  # blank lines, of which httptools says nothing, and perhaps a part of a head
                self._hand_over(data)
        self._head = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value.rstrip(b" \t"))

    def on_headers_complete(self) -> None:
        """Raises `NotPlain`, and then nothing of the request has begun."""
        names = [name for name, _ in self.headers]
        if len(names) > MOST_HEADERS or names.count(b"host") != 1 or not NOT_PLAIN.isdisjoint(names):
            raise NotPlain
        if not self.url.startswith(b"/") or b"#" in self.url or self.parser.should_upgrade():
            raise NotPlain
        method = self.parser.get_method()
        # httptools accepts blank lines before the request line, and several blanks in it. Its answer to a HEAD tells less
        # of the body than h11's.
        if method == b"HEAD" or not self._head.startswith(b"%b %b HTTP/1.1\r\n" % (method, self.url)):
            raise NotPlain
        written = next((value for name, value in self.headers if name == b"content-length"), b"0")
        if len(written) > MOST_DIGITS or self._behind > (length := int(written)):
            raise NotPlain
        super().on_headers_complete()
        self._missing = length - self._behind

    def _hand_over(self, data: bytes) -> None:
        args, named = self._made_of
        self.successor = successor = HttpConnection(*args, known_as=self, **named)
        successor.app = self.app
        self.connections.discard(self)
        successor.connection_made(self.transport)
        self.transport.set_protocol(successor)
        if self.flow.write_paused:  # the transport says it once
            successor.pause_writing()
        successor.data_received(data)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._missing:
            self._all.mark_incomplete(self)
        elif self._held:
            self._begin_held()
        else:
            self._all.mark_idle(self)

    def time_out(self) -> None:
        if self.successor is not None:
            self.successor.time_out()
            return
        if self._missing and not (self.cycle.response_started and not self.cycle.response_complete):
            self.transport.write(TOO_SLOW)
        self.transport.close()
