"""A TCP proxy before the server that loses a message of an SSE client, whose stream goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Literal

from tests.support.loop_thread import Held, LoopThread

REFUSED = b"HTTP/1.1 %d No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
Loss = int | Literal["reset"]


@dataclass
class LosingProxy:
    """Of the `losses` each POST takes one: the status of its answer, or a reset. When there are none left, all is well.
    `streams` counts the streams that were asked for."""

    upstream: int
    port: int = 0
    losses: list[Loss] = field(default_factory=list)
    streams: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        down, up = await asyncio.open_connection("127.0.0.1", self.upstream)
        answering = asyncio.create_task(_pass(down, writer))
        try:
            while data := await reader.read(2**16):
                self.streams += data.startswith(b"GET /sse")
                if data.startswith(b"POST ") and self.losses:
                    loss = self.losses.pop(0)
                    if loss == "reset":
                        writer.transport.abort()
                    else:
                        writer.write(REFUSED % loss)
                    break
                up.write(data)
        except OSError:
            pass
        finally:
            up.close()
            await answering


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(2**16):
            writer.write(data)
    except OSError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def _serving(proxy: LosingProxy) -> AsyncIterator[LosingProxy]:
    async with await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as server:
        proxy.port = server.sockets[0].getsockname()[1]
        yield proxy


@contextmanager
def losing(upstream: int) -> Iterator[LosingProxy]:
    """The proxy on a thread of its own, before this port of the loopback."""
    thread = LoopThread()
    try:
        held = Held(thread, lambda: _serving(LosingProxy(upstream)))
        try:
            yield held.value
        finally:
            held.close()
    finally:
        thread.close()
