"""The relay between processes of one machine: a folder of Unix sockets, each named after its process. A process has ended
when its socket refuses connections. Each message follows its length.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from server.transport.relay.port import Gone, Missed, Receive, Relay, Unreached

LENGTH = struct.Struct(">I")
LARGEST_MESSAGE = 2**27
CONNECT_SECONDS = 0.08
MOST_UNSENT_BYTES = 2**23
"""Most unsent bytes for a process that does not read."""


class _Connection(asyncio.Protocol):
    """One direction of a connection; the process that opened it sends."""

    transport: asyncio.Transport

    def __init__(self, receive: Receive | None = None, accepted: set[_Connection] | None = None) -> None:
        self._receive = receive
        self._accepted = set[_Connection]() if accepted is None else accepted
        self._unread = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._accepted.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._accepted.discard(self)

    def data_received(self, data: bytes) -> None:
        if self._receive is None:
            return
        self._unread += data
        at = 0
        while len(self._unread) - at >= LENGTH.size:
            length = LENGTH.unpack_from(self._unread, at)[0]
            if length > LARGEST_MESSAGE:
                self.transport.abort()
                return
            end = at + LENGTH.size + length
            if len(self._unread) < end:
                break
            self._receive(bytes(self._unread[at + LENGTH.size : end]))
            at = end
        del self._unread[:at]


class SocketRelay(Relay):
    """A relay over a folder that only one user may open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._listening = asyncio.Event()
        super().__init__(self._listening)
        self._outgoing: dict[str, _Connection] = {}
        self._dialling: dict[str, asyncio.Task[_Connection]] = {}

    def list_processes(self) -> set[str]:
        with suppress(OSError):
            return {path.stem for path in self._folder.glob("*.sock")}
        return set()

    async def send(self, to: str, message: bytes) -> None:
        transport = await self._connect(to)
        if transport.get_write_buffer_size() > MOST_UNSENT_BYTES:
            raise Unreached
        transport.write(LENGTH.pack(len(message)) + message)

    async def find_ended(self, names: Collection[str]) -> set[str]:
        found = set()
        for name in names:
            try:
                await self._connect(name)
            except Gone:
                found.add(name)
            except Unreached:
                pass
        return found

    async def keep(self, receive: Receive, missed: Missed) -> NoReturn:
        accepted = set[_Connection]()
        await asyncio.to_thread(self._make_room)
        loop = asyncio.get_running_loop()
        server = await loop.create_unix_server(lambda: _Connection(receive, accepted), self._path(self.own))
        self._listening.set()
        try:
            await server.serve_forever()
        finally:
            self._listening.clear()
            for each in list(accepted):
                each.transport.abort()
        raise AssertionError("it serves until it is cancelled")

    async def aclose(self) -> None:
        for task in self._dialling.values():
            task.cancel()
        for each in self._outgoing.values():
            each.transport.close()
        await asyncio.to_thread(self._path(self.own).unlink, missing_ok=True)

    async def _connect(self, to: str) -> asyncio.Transport:
        """Returns the connection to that process. Raises `Gone`, `Unreached`."""
        known = self._outgoing.get(to)
        if known is not None and not known.transport.is_closing():
            return known.transport
        self._outgoing.pop(to, None)
        if to not in self._dialling:  # one attempt, however many callers wait for it
            self._dialling[to] = asyncio.create_task(self._dial(to), name="relay-dial")
        try:
            return (await asyncio.shield(self._dialling[to])).transport
        except (FileNotFoundError, ConnectionRefusedError):
            raise Gone from None
        except (OSError, TimeoutError):
            raise Unreached from None

    async def _dial(self, to: str) -> _Connection:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, made = await asyncio.get_running_loop().create_unix_connection(_Connection, str(self._path(to)))
            self._outgoing[to] = made
            return made
        finally:
            del self._dialling[to]

    def _make_room(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path(self.own).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.sock"
