"""One HTTP connection whose plain requests are read in C (httptools), a fifth of what a cached call costs by h11.

Only what both parsers must read alike goes this way: a head that came whole, with one Host, at most a Content-Length, and
nothing behind its body. All else, what httptools refuses included, is h11's from the request's first byte on, with whatever
comes later on the connection: so nothing is let in that h11 with our bounds (`parser.py`) would refuse.
"""

from __future__ import annotations

from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from server.transport.http.bodies import MOST_HEADERS
from server.transport.http.connection import (
    MOST_HEAD_BYTES,
    TOO_SLOW,
    Connections,
    HttpConnection,
    probes_only,
)

HEAD_END = b"\r\n\r\n"
NOT_PLAIN = frozenset({b"transfer-encoding", b"upgrade", b"expect", b"te", b"trailer", b"proxy-connection"})
"""The last is none of a server's, but httptools takes it for Connection."""
MOST_DIGITS = 20
"""Of a length, as h11 has it."""
FOLDS = (b"\n ", b"\n\t")


class NotPlain(Exception):
    """A request for h11."""


class PlainRequests(HttpToolsProtocol):
    """Until the first request that is none. A connection is then served by its `successor`, and counted as this."""

    def __init__(self, *args: Any, all_of_them: Connections, **named: Any) -> None:
        super().__init__(*args, **named)
        self._made_of = args, named
        self._all = all_of_them
        self._received = b""
        """From the first byte of a request on, while it begins."""
        self._behind = 0
        """Bytes that came with its head, behind it."""
        self._missing = 0
        """Bytes of a body that are still to come."""
        self._held = b""
        """What came behind a request that is not answered."""
        self.successor: HttpConnection | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)
        self._all.opened(self)

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
            self._go_on()
        elif self.successor is None:
            self._told_apart()

    def _told_apart(self) -> None:
        if self._held:
            self.flow.pause_reading()
        if self._missing or self.cycle.response_complete:
            self._all.awaited(self)
        else:
            self._all.asked(self)

    def _go_on(self) -> None:
        data, self._held = self._held, b""
        self.data_received(data)

    def _begin(self, data: bytes) -> None:
        """Begins the request that begins with `data`, or leaves it to h11."""
        end = data.find(HEAD_END, 0, MOST_HEAD_BYTES)
        if end < 0 or any(data.find(fold, 0, end) >= 0 for fold in FOLDS):
            self._hand_over(data)
            return
        self._received, self._behind = data, len(data) - end - len(HEAD_END)
        before = self.cycle
        try:
            self.parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._hand_over(data)
        else:
            if self.cycle is before:  # blank lines, of which httptools says nothing, and perhaps a part of a head
                self._hand_over(data)
        self._received = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value.rstrip(b" \t"))

    def on_headers_complete(self) -> None:
        """Raises `NotPlain`, and then nothing of the request has begun."""
        names = [name for name, _ in self.headers]
        if len(names) > MOST_HEADERS or names.count(b"host") != 1 or not NOT_PLAIN.isdisjoint(names):
            raise NotPlain
        if not self.url.startswith(b"/") or b"#" in self.url or self.parser.should_upgrade():
            raise NotPlain
        # To the byte: httptools takes a blank line before it, and more than one blank in it.
        method = self.parser.get_method()
        # The answer to a HEAD says here less of the body that it would have than h11 does.
        if method == b"HEAD" or not self._received.startswith(b"%b %b HTTP/1.1\r\n" % (method, self.url)):
            raise NotPlain
        written = next((value for name, value in self.headers if name == b"content-length"), b"0")
        if len(written) > MOST_DIGITS or self._behind > (length := int(written)):
            raise NotPlain
        super().on_headers_complete()
        self._missing = length - self._behind

    def _hand_over(self, data: bytes) -> None:
        args, named = self._made_of
        self.successor = successor = HttpConnection(*args, all_of_them=self._all, known_as=self, **named)
        successor.app = self.app
        self.connections.discard(self)
        successor.connection_made(self.transport)
        self.transport.set_protocol(successor)
        if self.flow.write_paused:  # which the transport says once
            successor.pause_writing()
        successor.data_received(data)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._missing:
            self._all.awaited(self)
        elif self._held:
            self._go_on()
        else:
            self._all.idle(self)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._all.unread(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._all.taken(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.closed(self)
        super().connection_lost(exc)

    def ask_to_hurry(self) -> None:
        if self.successor is not None:
            self.successor.ask_to_hurry()
            return
        if self._missing and not (self.cycle.response_started and not self.cycle.response_complete):
            self.transport.write(TOO_SLOW)
        self.transport.close()

    def drop(self) -> None:
        self.transport.abort()

    def serve_probes_only(self) -> None:
        self.app = probes_only(self.app)

    def refuse(self) -> None:
        HttpConnection.refuse(self)  # type: ignore[arg-type]
