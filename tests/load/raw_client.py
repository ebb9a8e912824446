"""Clients of HTTP+SSE that cost little, so that what is measured is the server.

A client is two sockets and no library: one holds `GET /sse`, the other sends each POST on one kept-alive connection. It
does the handshake of 2025-06-18, then asks, waits for the 202 *and* for the answer on the stream, and asks again (closed
loop, no pause). An answer is not parsed: it has to carry its request's id and the words that the variant promises.

As a program this is the load generator: one process, commands as JSON lines on stdin, results on stdout.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.load.calls import echo_bodies, search_bodies
from tests.load.handshake import INITIALIZED, initialize
from tests.load.sse_wire import EventStream, Poster
from tests.load.worker import Worker

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 10.0
WARM_ROUNDS = 100


@dataclass(slots=True)
class Client:
    """`bodies` gives each request with its id; `promised` is what every answer has to contain; `headers` are further lines,
    each with its end."""

    port: int
    bodies: Iterator[tuple[int, bytes]]
    promised: bytes
    headers: str = ""
    latencies: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    last_answer: bytes = b""
    _stream: EventStream | None = None
    _poster: Poster | None = None
    _endpoint: asyncio.Future[str] | None = None
    _done: asyncio.Future[None] | None = None
    _expected: bytes = b""
    _open: int = 0
    _asked: float = 0.0
    _left: int = 0
    _until: float = 0.0

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        host = f"127.0.0.1:{self.port}"
        self._endpoint = loop.create_future()
        _, self._stream = await loop.create_connection(
            lambda: EventStream(host, self._event, self._ended, self.headers), "127.0.0.1", self.port
        )
        _, self._poster = await loop.create_connection(
            lambda: Poster(host, self._part_done, self._ended, self.headers), "127.0.0.1", self.port
        )
        async with asyncio.timeout(CONNECT_SECONDS):
            self._poster.path = await self._endpoint
            await self._exchange(json.dumps(initialize("bench", "2025-06-18")).encode(), b'"id":0', answered=True)
            await self._exchange(json.dumps(INITIALIZED).encode(), b"", answered=False)

    async def ask(self, *, seconds: float = 0.0, calls: int = 0) -> None:
        """Asks for so long, or so often."""
        self._until, self._left = time.perf_counter() + seconds, calls
        self._done = asyncio.get_running_loop().create_future()
        self._next()
        async with asyncio.timeout(seconds + calls + ANSWER_SECONDS):
            await self._done

    def close(self) -> None:
        for each in (self._stream, self._poster):
            if each is not None:
                each.close()

    async def _exchange(self, body: bytes, expected: bytes, *, answered: bool) -> None:
        assert self._poster is not None
        self._done = asyncio.get_running_loop().create_future()
        self._open, self._expected, self._left, self._until = 1 + answered, expected, 1, 0.0
        self._asked = time.perf_counter()
        self._poster.send(body)
        await self._done
        self.latencies.clear()
        self.wrong.clear()

    def _next(self) -> None:
        assert self._poster is not None
        number, body = next(self.bodies)
        self._expected = b'"id":%d,' % number
        self._open = 2
        self._asked = time.perf_counter()
        self._poster.send(body)

    def _event(self, event: bytes) -> None:
        assert self._endpoint is not None
        if not self._endpoint.done():
            self._endpoint.set_result(event.partition(b"data: ")[2].decode())
        elif b'"id":' in event[:60]:  # no notification
            self.latencies.append(time.perf_counter() - self._asked)
            if self._expected not in event[:80] or self.promised not in event:
                self.wrong.append(event[:2000].decode("utf-8", "replace"))
            self.last_answer = event
            self._part_done()

    def _part_done(self) -> None:
        """The 202 and the answer may come in either order."""
        assert self._done is not None
        self._open -= 1
        if self._open:
            return
        self._left -= 1
        if self._left > 0 or time.perf_counter() < self._until:
            self._next()
        elif not self._done.done():
            self._done.set_result(None)

    def _ended(self) -> None:
        for waited in (self._endpoint, self._done):
            if waited is not None and not waited.done():
                waited.set_exception(ConnectionError("the server closed the connection"))


class LoadGenerator(Worker):
    """Commands: connect (port, clients, run, echo, promised), warm (calls), go (seconds) or (calls), close."""

    def __init__(self) -> None:
        self._clients: list[Client] = []

    async def connect(self, port: int, clients: int, run: str, echo: bool, promised: str) -> dict[str, Any]:
        self._clients = [
            Client(port, echo_bodies() if echo else search_bodies(run, number, clients), promised.encode())
            for number in range(clients)
        ]
        await asyncio.gather(*(client.connect() for client in self._clients))
        return {}

    async def warm(self, calls: int) -> dict[str, Any]:
        """Calls that are not counted, until all clients get what is promised: the first may be live, or incomplete."""
        for _ in range(WARM_ROUNDS):
            await asyncio.gather(*(client.ask(calls=calls) for client in self._clients))
            settled = all(client.promised in client.last_answer for client in self._clients)
            for client in self._clients:
                client.latencies.clear()
                client.wrong.clear()
            if settled:
                break
            await asyncio.sleep(0.1)
        return {"answer": self._clients[0].last_answer.partition(b"data: ")[2].decode()}

    async def go(self, seconds: float = 0.0, calls: int = 0) -> dict[str, Any]:
        began, used = time.perf_counter(), cpu_ms_of_self()
        await asyncio.gather(*(client.ask(seconds=seconds, calls=calls) for client in self._clients))
        took = time.perf_counter() - began
        wrong = [each for client in self._clients for each in client.wrong]
        return {
            "latencies": [each for client in self._clients for each in client.latencies],
            "seconds": took,
            "client_cpu_ms": cpu_ms_of_self() - used,
            "wrong": len(wrong),
            "first_wrong": wrong[0] if wrong else None,
        }

    async def close(self) -> dict[str, Any]:
        for client in self._clients:
            client.close()
        self._clients = []
        return {}


def cpu_ms_of_self() -> float:
    return time.process_time() * 1000


if __name__ == "__main__":
    sys.exit(LoadGenerator.main())
