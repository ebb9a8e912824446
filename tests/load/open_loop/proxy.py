"""Between the server and its backends: passes every byte on, and notes how long each backend takes to answer.

A process of its own. HTTP/1.1 without pipelining: from the first byte of a request to the last of its answer. Redis: from a
command's arrival to its reply, matched in order, which RESP keeps. What the server itself needs before and after is not in
it; a moment of this process is.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import hiredis

from tests.load.worker import Worker

Note = Callable[[str, float], None]


class HttpTimer:
    """Labels a request by what DynamoDB calls its target, else by the last word of its path."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._label = ""
        self._asked: float | None = None
        self._answered: float | None = None

    def asked(self, data: bytes) -> None:
        if self._answered is not None:
            self.settle()
        if self._asked is None:
            self._asked, self._label = time.perf_counter(), _label(data)

    def answered(self, data: bytes) -> None:
        if self._asked is not None:
            self._answered = time.perf_counter()

    def settle(self) -> None:
        """The answer is whole: its connection asks again, or nobody will."""
        if self._asked is not None and self._answered is not None:
            self._note(self._label, self._answered - self._asked)
        self._asked = self._answered = None


class RedisTimer:
    def __init__(self, note: Note) -> None:
        self._note = note
        self._questions, self._replies = hiredis.Reader(), hiredis.Reader()
        self._open: deque[tuple[str, float]] = deque()

    def asked(self, data: bytes) -> None:
        now = time.perf_counter()
        self._questions.feed(data)
        while (command := self._questions.gets()) is not False:
            self._open.append((command[0].decode(), now))

    def answered(self, data: bytes) -> None:
        self._replies.feed(data)
        while self._replies.gets() is not False:
            label, asked = self._open.popleft()
            self._note(label, time.perf_counter() - asked)

    def settle(self) -> None:
        """Replies are noted as they come."""


class _Side(asyncio.Protocol):
    """One of the two connections of a pair."""

    def __init__(self, heard: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._heard = heard
        self._on_end = on_end
        self._early = b""
        self._other: asyncio.Transport | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def leads_to(self, other: asyncio.Transport) -> None:
        self._other = other
        if self._early:
            other.write(self._early)

    def data_received(self, data: bytes) -> None:
        self._heard(data)
        if self._other is not None:
            self._other.write(data)
        else:
            self._early += data

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_end()
        if self._other is not None:
            self._other.close()


class Proxies(Worker):
    """Commands: open (name, url, redis), reset, figures."""

    def __init__(self) -> None:
        self._seconds: dict[str, dict[str, list[float]]] = {}
        self._timers: dict[str, set[HttpTimer | RedisTimer]] = defaultdict(set)
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, name: str, url: str, redis: bool = False) -> dict[str, Any]:
        """Listens on a port of its own for connections to that URL."""
        to = urlsplit(url)
        self._seconds[name] = defaultdict(list)

        def note(label: str, seconds: float) -> None:
            self._seconds[name][label].append(seconds)

        def accept() -> asyncio.Protocol:
            timer = RedisTimer(note) if redis else HttpTimer(note)
            self._timers[name].add(timer)
            near = _Side(timer.asked, lambda: self._timers[name].discard(timer))
            task = asyncio.create_task(self._lead_on(near, timer, str(to.hostname), int(to.port or 80)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return near

        server = await asyncio.get_running_loop().create_server(accept, "127.0.0.1", 0)
        return {"port": server.sockets[0].getsockname()[1]}

    async def reset(self) -> dict[str, Any]:
        for labels in self._seconds.values():
            labels.clear()
        return {}

    async def figures(self) -> dict[str, Any]:
        """Seconds of each request, by backend and label."""
        for timers in self._timers.values():
            for timer in timers:
                timer.settle()
        return dict(self._seconds)

    async def _lead_on(self, near: _Side, timer: HttpTimer | RedisTimer, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        _, far = await loop.create_connection(lambda: _Side(timer.answered, timer.settle), host, port)
        assert near.transport is not None
        assert far.transport is not None
        far.leads_to(near.transport)
        near.leads_to(far.transport)


def _label(data: bytes) -> str:
    at = data.lower().find(b"x-amz-target: ")
    if at >= 0:
        return data[at + 14 :].partition(b"\r\n")[0].rpartition(b".")[2].decode()
    path = data.partition(b" ")[2].partition(b" ")[0].partition(b"?")[0]
    return path.rpartition(b"/")[2].decode("ascii", "replace")


if __name__ == "__main__":
    sys.exit(Proxies.main())
