"""One agent's connection to the server: an SSE stream and a pool of connections for POSTs, shared by all its customers."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable

from tests.load.handshake import INITIALIZED, initialize
from tests.load.raw_client import CONNECT_SECONDS
from tests.load.sse_wire import EventStream, Poster

MOST_CONNECTIONS, LONGEST_IDLE_SECONDS = 64, 4.0
ACCEPTED = 202
HANDSHAKE = 0
"""The id of `initialize`; calls are numbered from 1."""
Answered = Callable[[int, bytes], None]
Refused = Callable[[int, str], None]


class _Post(Poster):
    """A kept-alive connection that says how each POST was answered, good or bad."""

    def __init__(self, host: str, path: str, on_status: Callable[[_Post, int], None], on_end: Callable[[_Post], None]):
        super().__init__(host, lambda: None, lambda: on_end(self))
        self.path = path
        self.number: int | None = None
        self.idle_since = 0.0
        self._on_status = on_status

    def data_received(self, data: bytes) -> None:
        self._raw += data
        head, blank, body = self._raw.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if not blank or len(body) < int(length or 0):
            return
        self._raw = b""
        self._on_status(self, int(head[9:12]))


class Conversation:
    """`answered(id, event)` is called for each answer on the stream, `refused(id, why)` when a POST was not taken."""

    def __init__(self, port: int, answered: Answered, refused: Refused) -> None:
        self._port = port
        self._answered = answered
        self._refused = refused
        self._host = f"127.0.0.1:{port}"
        self._path = ""
        self._free: list[_Post] = []
        self._all: set[_Post] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._waiting: deque[tuple[int, bytes]] = deque()
        self.ended = False

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._endpoint: asyncio.Future[str] = loop.create_future()
        self._greeted: asyncio.Future[None] = loop.create_future()
        _, self._stream = await loop.create_connection(
            lambda: EventStream(self._host, self._event, self._end), "127.0.0.1", self._port
        )
        async with asyncio.timeout(CONNECT_SECONDS):
            self._path = await self._endpoint
            self.send(HANDSHAKE, json.dumps(initialize("bench", "2025-06-18")).encode())
            await self._greeted
            self.send(HANDSHAKE, json.dumps(INITIALIZED).encode())

    def send(self, number: int, body: bytes) -> None:
        """At once, on a free connection or a new one; when all are in use it waits for one, and its time runs."""
        while self._free:
            post = self._free.pop()
            if post.idle_since + LONGEST_IDLE_SECONDS > asyncio.get_running_loop().time():
                self._post(post, number, body)
                return
            post.close()  # as any client's pool does
        self._waiting.append((number, body))
        if len(self._all) + len(self._opening) < MOST_CONNECTIONS:
            task = asyncio.create_task(self._open())
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    def close(self) -> None:
        self._stream.close()
        for task in self._opening:
            task.cancel()
        for post in list(self._all):
            post.close()

    async def _open(self) -> None:
        try:
            _, post = await asyncio.get_running_loop().create_connection(
                lambda: _Post(self._host, self._path, self._status, self._gone), "127.0.0.1", self._port
            )
        except OSError:
            if self._waiting:
                self._refused(self._waiting.popleft()[0], "not connected")
            return
        self._all.add(post)
        self._use(post)

    def _use(self, post: _Post) -> None:
        if self._waiting:
            self._post(post, *self._waiting.popleft())
        else:
            post.idle_since = asyncio.get_running_loop().time()
            self._free.append(post)

    def _post(self, post: _Post, number: int, body: bytes) -> None:
        post.number = number
        post.send(body)

    def _status(self, post: _Post, status: int) -> None:
        number, post.number = post.number, None
        if status != ACCEPTED and number is not None:
            self._refused(number, f"HTTP {status}")
        self._use(post)

    def _gone(self, post: _Post) -> None:
        self._all.discard(post)
        if post in self._free:
            self._free.remove(post)
        if post.number is not None:
            self._refused(post.number, "connection lost")

    def _event(self, event: bytes) -> None:
        if not self._endpoint.done():
            self._endpoint.set_result(event.partition(b"data: ")[2].decode())
            return
        at = event.find(b'"id":', 0, 60)
        if at < 0:
            return  # a notification
        number = int(event[at + 5 : event.index(b",", at)])
        if number != HANDSHAKE:
            self._answered(number, event)
        elif not self._greeted.done():
            self._greeted.set_result(None)

    def _end(self) -> None:
        self.ended = True
        for waited in (self._endpoint, self._greeted):
            if not waited.done():
                waited.set_exception(ConnectionError("the server closed the stream"))
