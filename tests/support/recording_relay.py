"""A relay before a server that speaks HTTP/1.1: passes everything on, and keeps what clients said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

PIECE = 2**16


@dataclass(slots=True)
class RecordingRelay:
    url: str = ""
    said: bytes = b""

    def values(self, header: str) -> list[str]:
        """Those of each request that had the header, in order."""
        lines = [line.partition(b":") for line in self.said.split(b"\r\n")]
        return [value.strip().decode() for name, _, value in lines if name.lower() == header.encode()]


@asynccontextmanager
async def recording(upstream: str) -> AsyncIterator[RecordingRelay]:
    relay, parts = RecordingRelay(), urlsplit(upstream)
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(parts.hostname, parts.port)
        both = asyncio.gather(_pass(reader, back, relay), _pass(there, writer, None), return_exceptions=True)
        await both

    def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(connected(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    relay.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield relay
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pass(source: asyncio.StreamReader, target: asyncio.StreamWriter, relay: RecordingRelay | None) -> None:
    try:
        while piece := await source.read(PIECE):
            if relay is not None:
                relay.said += piece
            target.write(piece)
            await target.drain()
    finally:
        target.close()
