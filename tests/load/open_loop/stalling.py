"""A server that takes every call and answers none of them until so many have come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class StallingServer:
    """Takes every POST, and answers no call until so many have come; then all of them, and every later one at once."""

    until: int
    port: int = 0
    asked: list[int] = field(default_factory=list)
    connections: set[asyncio.Task[None]] = field(default_factory=set)
    _stream: asyncio.StreamWriter | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.current_task()
        assert connection is not None
        self.connections.add(connection)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if head.startswith(b"GET"):
                    self._stream = writer
                    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                    self._say(b"event: endpoint\r\ndata: /messages/?session_id=x")
                else:
                    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                    body = await reader.readexactly(length)
                    writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
                    self._take(body)
        except asyncio.IncompleteReadError:
            writer.close()
            await writer.wait_closed()

    def _take(self, body: bytes) -> None:
        if b'"initialize"' in body:
            self._say(b'event: message\r\ndata: {"jsonrpc":"2.0","id":0,"result":{}}')
        elif b"tools/call" in body:
            self.asked.append(int(body.partition(b'"id":')[2].partition(b",")[0]))
            late_ones = self.asked if len(self.asked) == self.until else self.asked[-1:]
            for number in late_ones if len(self.asked) >= self.until else ():
                meta = '"_meta":{"com.mangaassist/call":{"source":"live","degraded":[]}}'
                result = f'{{"jsonrpc":"2.0","id":{number},"result":{{"isError":false,{meta}}}}}'
                self._say(b"event: message\r\ndata: " + result.encode())

    def _say(self, event: bytes) -> None:
        assert self._stream is not None
        data = event + b"\r\n\r\n"
        self._stream.write(b"%x\r\n%b\r\n" % (len(data), data))


@asynccontextmanager
async def stalling(until: int) -> AsyncIterator[StallingServer]:
    stall = StallingServer(until)
    server = await asyncio.start_server(stall.serve, "127.0.0.1", 0)
    stall.port = server.sockets[0].getsockname()[1]
    async with server:
        yield stall
        await asyncio.wait(stall.connections, timeout=10)
