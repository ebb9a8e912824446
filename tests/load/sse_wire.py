"""The two sockets of a client of HTTP+SSE, without a library: one that is listened to, one that is posted on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class EventStream(asyncio.Protocol):
    """The response to `GET /sse`: chunks undone (RFC 9112, 7.1), cut into events at blank lines."""

    def __init__(self, host: str, on_event: Callable[[bytes], None], on_end: Callable[[], None], headers: str = "") -> None:
        self._request = f"GET /sse HTTP/1.1\r\nHost: {host}\r\n{headers}Accept: text/event-stream\r\n\r\n".encode()
        self._on_event = on_event
        self._on_end = on_end
        self._raw = b""
        self._text = b""
        self._in_body = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._raw += data
        if not self._in_body:
            head, blank, rest = self._raw.partition(b"\r\n\r\n")
            if not blank:
                return
            if not head.startswith(b"HTTP/1.1 200"):
                raise ConnectionError(head.decode("latin-1"))
            self._raw, self._in_body = rest, True
        self._unchunk()
        *events, self._text = self._text.split(b"\r\n\r\n")
        for event in events:
            if not event.startswith(b":"):
                self._on_event(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_end()

    def close(self) -> None:
        self._transport.close()

    def _unchunk(self) -> None:
        raw, at = self._raw, 0
        while (line_end := raw.find(b"\r\n", at)) >= 0:
            end = line_end + 2 + int(raw[at:line_end], 16)
            if end + 2 > len(raw):
                break
            self._text += raw[line_end + 2 : end]
            at = end + 2
        self._raw = raw[at:]


class Poster(asyncio.Protocol):
    """One kept-alive connection for POSTs, one at a time."""

    def __init__(self, host: str, on_accepted: Callable[[], None], on_end: Callable[[], None], headers: str = "") -> None:
        self._host = host
        self._headers = headers
        self._on_accepted = on_accepted
        self._on_end = on_end
        self._raw = b""
        self.path = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def send(self, body: bytes) -> None:
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: {self._host}\r\n{self._headers}Content-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._transport.write(head.encode() + body)

    def data_received(self, data: bytes) -> None:
        self._raw += data
        head, blank, body = self._raw.partition(b"\r\n\r\n")
        if not blank or len(body) < _length(head):
            return
        self._raw = b""
        if not head.startswith(b"HTTP/1.1 202"):
            raise ConnectionError(head.decode("latin-1"))
        self._on_accepted()

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_end()

    def close(self) -> None:
        self._transport.close()


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0
