"""Pass-throughs before the backends, which write down each round trip. A process of its own: a worker.

They know no protocol: what a client sends after the backend has spoken begins a trip, and the last that the backend says
before the client speaks again ends it. That is a request for HTTP without pipelining, and a trip for Redis as long as one
call at a time is made.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.load.worker import Worker

Trip = list[float]
"""Begin and end, by the clock that all processes of the machine share (time.perf_counter)."""


class Taps(Worker):
    """Commands: tap (name, host, port, apart), forget, trips. `apart` are words in requests that go by a name of their
    own, and that name."""

    def __init__(self) -> None:
        self._trips: dict[str, list[Trip]] = {}
        self._servers: list[asyncio.Server] = []

    async def tap(self, name: str, host: str, port: int, apart: tuple[Sequence[str], str] | None = None) -> dict[str, Any]:
        trips = self._trips.setdefault(name, [])
        words, other = apart or ((), name)
        others = self._trips.setdefault(other, [])

        def began(data: bytes, trip: Trip) -> None:
            (others if any(word.encode() in data for word in words) else trips).append(trip)

        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _FromClient(host, port, began), "127.0.0.1", 0)
        self._servers.append(server)
        return {"port": server.sockets[0].getsockname()[1]}

    async def forget(self) -> dict[str, Any]:
        for trips in self._trips.values():
            trips.clear()
        return {}

    async def trips(self) -> dict[str, Any]:
        return dict(self._trips)


class _FromClient(asyncio.Protocol):
    def __init__(self, host: str, port: int, began: Callable[[bytes, Trip], None]) -> None:
        self._host, self._port, self._began = host, port, began
        self._early = b""
        self._backend: asyncio.Transport | None = None
        self._trip: Trip | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._dialling = asyncio.get_running_loop().create_task(self._dial())

    async def _dial(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._backend, _ = await loop.create_connection(lambda: _FromBackend(self), self._host, self._port)
        except OSError:
            self.transport.close()
            return
        if self._early:
            self._backend.write(self._early)

    def data_received(self, data: bytes) -> None:
        if self._trip is None:
            now = time.perf_counter()
            self._trip = [now, now]
            self._began(data, self._trip)
        elif self._trip[1] > self._trip[0]:  # the backend has spoken: this is the next one
            self._trip = None
            self.data_received(data)
            return
        if self._backend is None:
            self._early += data
        else:
            self._backend.write(data)

    def answered(self, data: bytes) -> None:
        self.transport.write(data)
        if self._trip is not None:
            self._trip[1] = time.perf_counter()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._backend is not None:
            self._backend.close()


class _FromBackend(asyncio.Protocol):
    def __init__(self, client: _FromClient) -> None:
        self._client = client

    def data_received(self, data: bytes) -> None:
        self._client.answered(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.transport.close()


if __name__ == "__main__":
    sys.exit(Taps.main())
