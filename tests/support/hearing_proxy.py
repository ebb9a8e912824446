"""A TCP proxy before a backend that speaks HTTP: what passes is not touched, and its requests are kept."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PIECE = 2**16
TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}", re.IGNORECASE)


class HearingProxy:
    """`port` is where it listens on the loopback."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._heard: list[bytearray] = []
        self._open: set[asyncio.Task[None]] = set()
        self.port = 0

    @classmethod
    @asynccontextmanager
    async def before(cls, upstream: int) -> AsyncIterator[HearingProxy]:
        """Until the block ends, before this port of the loopback."""
        proxy = cls(upstream)
        server = await asyncio.start_server(proxy._taken, "127.0.0.1", 0)
        proxy.port = server.sockets[0].getsockname()[1]
        try:
            yield proxy
        finally:
            server.close()
            for task in proxy._open:
                task.cancel()
            await asyncio.gather(*proxy._open, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def values(self, header: str) -> list[str]:
        """Those of each request that had the header, connection by connection."""
        lines = [line.partition(b":") for heard in self._heard for line in bytes(heard).split(b"\r\n")]
        return [value.strip().decode() for name, _, value in lines if name.lower() == header.encode()]

    def traceparents(self) -> list[tuple[str, str]]:
        """The id of the trace and of the span in each request that had them."""
        found = [TRACEPARENT.fullmatch(value) for value in self.values("traceparent")]
        return [(each[1], each[2]) for each in found if each]

    async def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard = bytearray()
        self._heard.append(heard)
        down, up = await asyncio.open_connection("127.0.0.1", self._upstream)
        tasks = {asyncio.create_task(_pass(reader, up, heard)), asyncio.create_task(_pass(down, writer))}
        self._open |= tasks
        await asyncio.wait(tasks)
        self._open -= tasks


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: bytearray | None = None) -> None:
    """Until one side ends."""
    try:
        while piece := await reader.read(PIECE):
            if heard is not None:
                heard += piece
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()
