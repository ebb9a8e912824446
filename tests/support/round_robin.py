"""A plain HTTP proxy without affinity: every request goes to the next of its servers, whatever came before on its connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from urllib.parse import urlsplit

CHUNK = 2**16
Head = list[bytes]


class _Requests(asyncio.StreamReader):
    """What a client sends; `gone` is set once it has hung up."""

    def __init__(self) -> None:
        super().__init__(limit=2**20)
        self.gone = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.gone.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.gone.set()


class RoundRobin:
    """Keeps the connections of its clients and opens one to a server for each request. `turn` gives the number of the
    server of the next request; a server that takes no connection is passed over. `served` counts by server."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._at = [_address(url) for url in urls]
        self._turns = count()
        self.served = [0] * len(urls)

    def replace(self, number: int, url: str) -> None:
        """Sends no further request to this server, but to another in its place."""
        self._at[number] = _address(url)

    async def serve(self, reader: _Requests, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                while head := await _head(reader):
                    if not await self._pass_on(head, reader, writer):
                        break
        finally:
            writer.close()

    async def _pass_on(self, head: Head, reader: _Requests, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer. Tells whether another may follow on this connection."""
        from_server, to_server = await self._connected()
        try:
            to_server.writelines([head[0], *_without(head, b"connection"), b"connection: close\r\n\r\n"])
            await _copied(reader, to_server, int(_value(head, b"content-length") or 0))
            leaving = asyncio.create_task(_until_gone(reader, to_server))
            try:
                return await _answered(from_server, writer)
            finally:
                leaving.cancel()
                await asyncio.gather(leaving, return_exceptions=True)
        finally:
            to_server.close()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        first = next(self._turns)  # from there on its own way: others take turns meanwhile
        for number in ((first + further) % len(self._at) for further in range(len(self._at))):
            with suppress(OSError):
                connection = await asyncio.open_connection(*self._at[number])
                self.served[number] += 1
                return connection
        raise ConnectionRefusedError("no server takes a connection")


@asynccontextmanager
async def round_robin(urls: Sequence[str], port: int = 0) -> AsyncIterator[tuple[int, RoundRobin]]:
    """Listens until the block ends. Gives the port."""
    own = RoundRobin(urls)
    connections: set[asyncio.Task[None]] = set()

    def accept() -> asyncio.StreamReaderProtocol:
        reader = _Requests()

        def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(own.serve(reader, writer))
            connections.add(task)
            task.add_done_callback(connections.discard)

        return asyncio.StreamReaderProtocol(reader, accepted)

    server = await asyncio.get_running_loop().create_server(accept, "127.0.0.1", port)
    try:
        yield server.sockets[0].getsockname()[1], own
    finally:
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await asyncio.sleep(0)  # for the ends of the connections, which the loop tells of in its next turn


def _address(url: str) -> tuple[str, int]:
    to = urlsplit(url)
    return str(to.hostname), to.port or 80


async def _head(reader: asyncio.StreamReader) -> Head:
    """The lines of a head without the blank one; none at the end of the connection."""
    lines: Head = []
    while (line := await reader.readline()).strip():
        lines.append(line)
    return lines


async def _answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    head = await _head(reader)
    if not head:
        return False
    writer.writelines([head[0], *_without(head, b"connection"), b"\r\n"])
    length = _value(head, b"content-length")
    if length is not None or head[0].split()[1] in (b"204", b"304"):
        await _copied(reader, writer, int(length or 0))
        return True
    while data := await reader.read(CHUNK):  # chunks as they are; the server closes behind the last
        writer.write(data)
        await writer.drain()
        whole = data.endswith(b"0\r\n\r\n")
    return whole


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int) -> None:
    if length:
        writer.write(await reader.readexactly(length))
    await writer.drain()


async def _until_gone(reader: _Requests, to_server: asyncio.StreamWriter) -> None:
    """A server hears that the client of its answer has hung up."""
    await reader.gone.wait()
    to_server.transport.abort()


def _without(head: Head, name: bytes) -> Head:
    return [line for line in head[1:] if not line.lower().startswith(name + b":")]


def _value(head: Head, name: bytes) -> bytes | None:
    found = (line.partition(b":")[2].strip() for line in head[1:] if line.lower().startswith(name + b":"))
    return next(found, None)
