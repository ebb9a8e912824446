"""A server that plays what a page is to hear, over a real socket: the document with its policy, and a stream of events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from server.ops.room import page

Event = tuple[str, dict[str, Any]]
REASONS = {200: "OK", 404: "Not Found", 503: "Service Unavailable"}


@dataclass
class Playing:
    """`first` is what each stream begins with. `status` is what the stream's path answers; `opened` counts its requests."""

    first: list[Event]
    url: str = ""
    status: int = 200
    opened: int = 0
    streams: set[asyncio.StreamWriter] = field(default_factory=set)

    def say(self, *events: Event) -> None:
        """To every page that listens."""
        for writer in self.streams:
            writer.write(written(events))

    def cut(self) -> None:
        """Breaks every stream, as a server that dies does."""
        for writer in self.streams:
            writer.transport.abort()
        self.streams.clear()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1]
            if path == b"/ops/events":
                await self._stream(reader, writer)
            else:
                await self._document(writer)
        with suppress(ConnectionError):
            writer.close()

    async def _document(self, writer: asyncio.StreamWriter) -> None:
        body, policy = page()
        writer.write(
            head(
                200, "text/html; charset=utf-8", f"Content-Security-Policy: {policy.decode()}\r\nContent-Length: {len(body)}"
            )
        )
        writer.write(body)
        await writer.drain()

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        writer.write(head(self.status, "text/event-stream", "Cache-Control: no-store"))
        if self.status != 200:
            return
        writer.write(written(self.first))
        self.streams.add(writer)
        try:
            await reader.read()  # until the page goes away
        finally:
            self.streams.discard(writer)


def head(status: int, kind: str, more: str) -> bytes:
    return f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {kind}\r\nConnection: close\r\n{more}\r\n\r\n".encode()


def written(events: Iterable[Event]) -> bytes:
    return b"".join(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode() for name, data in events)


@asynccontextmanager
async def playing(first: list[Event]) -> AsyncIterator[Playing]:
    own = Playing(first)
    server = await asyncio.start_server(own.answer, "127.0.0.1", 0)
    own.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield own
    finally:
        server.close()
        own.cut()
