"""A TCP proxy before one backend that can be told to misbehave, and to stop doing so, at any moment."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.chaos.faults import NONE, Fault
from tests.chaos.words import language_of
from tests.stack.children import free_port

PIECE = 2**16
ADDRESS = "127.0.0.1"
SHORT = 2
"""Some of Redis's answers have no more than five bytes."""
AT_ONCE = struct.pack("ii", 1, 0)


class Proxy:
    """`fault` is what holds now. `slow` is what the backend's callers would call slow, in seconds; faults scale by it."""

    def __init__(self, backend: str, upstream: int, slow: float) -> None:
        self.backend, self.slow = backend, slow
        self.upstream = upstream
        self.port = free_port()
        self.fault = NONE
        self.taken = 0
        self.draw = random.Random(backend).random
        self._open: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    @classmethod
    @asynccontextmanager
    async def before(cls, backend: str, upstream: int, slow: float) -> AsyncIterator[Proxy]:
        proxy = cls(backend, upstream, slow)
        await proxy._listen()
        try:
            yield proxy
        finally:
            await proxy.turn(Fault("closed", "", listens=False))
            await asyncio.gather(*(connection.over.wait() for connection in list(proxy._open)))

    @property
    def connections(self) -> int:
        return len(self._open)

    async def turn(self, fault: Fault) -> None:
        """From now on this fault, or NONE. A connection that has swallowed something stays mute until its client gives up."""
        self.fault = fault
        if not fault.listens:
            await self._stop_listening()
        elif self._server is None:
            await self._listen()
        # An answer of the proxy's own must not overtake those that the backend still owes.
        if not fault.listens or (fault.says is not None and self.backend == "redis"):
            for connection in list(self._open):
                connection.reset()

    async def lead_to(self, upstream: int) -> None:
        """To another backend from now on; what was connected is cut off."""
        self.upstream = upstream
        for connection in list(self._open):
            connection.reset()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._taken, ADDRESS, self.port, backlog=512)

    async def _stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
            await asyncio.sleep(0)  # a turn of the loop, in which the socket is closed

    async def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.taken += 1
        connection = _Connection(self, reader, writer)
        self._open.add(connection)
        try:
            await connection.run()
        finally:
            self._open.discard(connection)


class _Connection:
    """A client's connection and the one to the backend that belongs to it."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy, self._reader, self._writer = proxy, reader, writer
        self._up: asyncio.Future[asyncio.StreamWriter] = asyncio.get_running_loop().create_future()
        self._mute = False
        self._passed = 0
        self._language = language_of(proxy.backend)
        self.over = asyncio.Event()

    def reset(self) -> None:
        """RST instead of FIN."""
        with suppress(OSError):
            self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self._writer.transport.abort()

    async def run(self) -> None:
        tasks = [asyncio.create_task(self._from_client())]
        try:
            down, up = await asyncio.open_connection(ADDRESS, self._proxy.upstream)
            self._up.set_result(up)
            tasks.append(asyncio.create_task(self._from_backend(down)))
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            if not self._mute:
                self.reset()  # the backend itself is away
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._writer.close()
            if self._up.done() and not self._up.cancelled():
                self._up.result().close()
            self.over.set()

    async def _from_client(self) -> None:
        waiting: list[bytes] = []
        spoken = NONE
        while data := await self._reader.read(PIECE):
            fault = self._proxy.fault
            if fault.resets:
                self.reset()
                return
            if fault is not spoken:
                spoken, self._language = fault, language_of(self._proxy.backend)
            if fault.says is not None:
                answers = [self._language.answer(fault.says) for _ in range(self._language.requests(data))]
                self._writer.write(b"".join(answers))
                continue
            self._passed = 0
            if self._mute or fault.passes == 0:
                self._mute = True
                continue
            waiting.append(data)
            up = await asyncio.shield(self._up)  # a connection to this machine takes no time, or fails
            up.write(b"".join(waiting))
            waiting.clear()

    async def _from_backend(self, down: asyncio.StreamReader) -> None:
        due: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        writing = asyncio.create_task(self._write_when_due(due))
        clock = asyncio.get_running_loop().time
        last = 0.0
        try:
            while data := await down.read(PIECE):
                fault, proxy = self._proxy.fault, self._proxy
                last = max(last, clock() + proxy.slow * (fault.delay + fault.jitter * proxy.draw()))
                due.put_nowait((last, data))
            await due.join()
            if self._mute:
                await asyncio.Event().wait()
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    async def _write_when_due(self, due: asyncio.Queue[tuple[float, bytes]]) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            at, data = await due.get()
            if (wait := at - clock()) > 0:
                await asyncio.sleep(wait)  # the delay that is played
            await self._write(data)
            due.task_done()

    async def _write(self, data: bytes) -> None:
        fault = self._proxy.fault
        if self._mute:
            return
        if fault.passes is not None:
            passes = min(fault.passes, SHORT) if self._proxy.backend == "redis" else fault.passes
            data = data[: max(0, passes - self._passed)]
            self._passed += len(data)
            self._mute = self._passed >= passes
        while data and (fault := self._proxy.fault).drip:
            self._writer.write(data[:1])
            data = data[1:]
            await asyncio.sleep(fault.drip)  # byte by byte: the fault that is played
        if data:
            self._writer.write(data)
        await self._writer.drain()
