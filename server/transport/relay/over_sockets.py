"""The relay between processes of one machine: a folder of Unix sockets, each with the name of the process behind it.

A connection tells by its end that the process has gone. Messages go with their length before them.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from server.transport.relay.port import Gone, Heard, Missed, Unreached, new_name

LENGTH = struct.Struct(">I")
LARGEST_MESSAGE = 2**27
READY_SECONDS = 0.25
CONNECT_SECONDS = 0.08
MOST_UNSENT_BYTES = 2**23
"""What may wait for a process that does not read."""
ENDED = (FileNotFoundError, ConnectionRefusedError)


class _Sending(asyncio.Protocol):
    """A connection to another process, which says nothing on it but by its end."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport


class _Hearing(asyncio.Protocol):
    """A connection from another process."""

    def __init__(self, heard: Heard, all_of_them: set[_Hearing]) -> None:
        self._heard = heard
        self._all = all_of_them
        self._unread = bytearray()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.discard(self)

    def data_received(self, data: bytes) -> None:
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
            self._heard(bytes(self._unread[at + LENGTH.size : end]))
            at = end
        del self._unread[:at]


class SocketRelay:
    """`Relay` over a folder, which only one user may open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = new_name()
        self._listening = asyncio.Event()
        self._away = False
        self._to: dict[str, _Sending] = {}
        self._dialling: dict[str, asyncio.Task[_Sending]] = {}

    @property
    def own(self) -> str:
        return self._own

    def known(self) -> set[str]:
        with suppress(OSError):
            return {path.stem for path in self._folder.glob("*.sock")}
        return set()

    async def ready(self) -> None:
        if self._listening.is_set() or self._away:
            return
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._listening.wait()
        except TimeoutError:
            self._away = True  # nobody waits for it again until it listens

    async def send(self, to: str, message: bytes) -> None:
        transport = await self._reached(to)
        if transport.get_write_buffer_size() > MOST_UNSENT_BYTES:
            raise Unreached
        transport.write(LENGTH.pack(len(message)) + message)

    async def gone(self, names: Collection[str]) -> set[str]:
        found = set()
        for name in names:
            try:
                await self._reached(name)
            except Gone:
                found.add(name)
            except Unreached:
                pass
        return found

    async def keep(self, heard: Heard, missed: Missed) -> NoReturn:
        own, connections = self._path(self._own), set[_Hearing]()
        await asyncio.to_thread(self._make_room)
        loop, accept = asyncio.get_running_loop(), _accepting(heard, connections)
        server = await loop.create_unix_server(accept, own)
        self._listening.set()
        self._away = False
        try:
            await server.serve_forever()
        finally:
            self._listening.clear()
            for each in list(connections):
                each.transport.abort()
        raise AssertionError("it serves until it is cancelled")

    async def aclose(self) -> None:
        for task in self._dialling.values():
            task.cancel()
        for each in self._to.values():
            each.transport.close()
        await asyncio.to_thread(self._path(self._own).unlink, missing_ok=True)

    async def _reached(self, to: str) -> asyncio.Transport:
        """The connection to that process. Raises `Gone`, `Unreached`."""
        known = self._to.get(to)
        if known is not None and not known.transport.is_closing():
            return known.transport
        self._to.pop(to, None)
        if to not in self._dialling:  # however many want to reach it at once
            self._dialling[to] = asyncio.create_task(self._dial(to), name="relay-dial")
        try:
            return (await asyncio.shield(self._dialling[to])).transport
        except ENDED:
            raise Gone from None
        except (OSError, TimeoutError):
            raise Unreached from None

    async def _dial(self, to: str) -> _Sending:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, made = await asyncio.get_running_loop().create_unix_connection(_Sending, str(self._path(to)))
            self._to[to] = made
            return made
        finally:
            del self._dialling[to]

    def _make_room(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path(self._own).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.sock"


def _accepting(heard: Heard, connections: set[_Hearing]) -> Callable[[], _Hearing]:
    return lambda: _Hearing(heard, connections)
