"""The byte side of a shared connection: what leaves at the end of a loop turn, and who waits for which reply.

Parsing and packing are hiredis's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

import hiredis

from session.failures import MemoryRefused, MemoryUnavailable
from session.redis.keyvalue import Command, Reply

SILENCE_SECONDS = 1.0
"""A connection that owes replies and has said nothing for so long is taken for dead (a stopped process, a lost link)."""
LOOKS = 2
"""Turns of the loop until whatever had arrived when the time was up has been read: one to find it, one to read it."""
BACKLOG = 20_000
"""Replies owed beyond which no more is sent: memory stays bounded while Redis hangs."""


class Trip:
    """Replies that are waited for together: `done` has them, in order, once the last has come.

    The time allowed counts from the moment the commands left, and a loop that was itself held up looks at its socket once
    more before Redis is blamed: with many calls at once this process's own work is most of what a clock would measure.
    """

    __slots__ = ("_allowed", "_expected", "_loop", "_replies", "_timer", "done")

    def __init__(self, loop: asyncio.AbstractEventLoop, expected: int, allowed: float) -> None:
        self._loop = loop
        self._expected = expected
        self._allowed = allowed
        self._replies: list[Reply | Exception] = []
        self._timer: asyncio.TimerHandle | None = None
        self.done: asyncio.Future[list[Reply | Exception]] = loop.create_future()

    def left(self) -> None:
        self._timer = self._loop.call_later(self._allowed, self._late, LOOKS)

    def take(self, reply: Reply | Exception) -> None:
        self._replies.append(reply)
        if len(self._replies) == self._expected and not self.done.done():
            self.done.set_result(self._replies)

    def fail(self, why: str) -> None:
        if not self.done.done():
            self.done.set_exception(MemoryUnavailable(why))
            self.done.exception()  # whoever stopped waiting is not an error to report

    async def replies(self) -> list[Reply | Exception]:
        """Raises `MemoryUnavailable`. Whoever is cancelled here leaves its replies to be thrown away when they come."""
        try:
            return await self.done
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _late(self, looks: int) -> None:
        if self.done.done():
            return
        if looks:
            self._loop.call_soon(self._late, looks - 1)
        else:
            self.fail("Redis did not answer in time")


class Wire(asyncio.Protocol):
    """The byte side: a buffer of what leaves at the end of this loop turn, and a queue of who waits for what."""

    def __init__(self, loop: asyncio.AbstractEventLoop, when_lost: Callable[[], None]) -> None:
        self._loop = loop
        self._when_lost = when_lost
        self._reader = hiredis.Reader(replyError=MemoryRefused)
        self._outgoing: list[bytes] = []
        self._leaving: list[Trip] = []
        self._waiting: deque[Trip] = deque()
        self._transport: asyncio.Transport | None = None
        self._heard = loop.time()
        self._watched = False
        self.closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        reader = self._reader
        reader.feed(data)
        try:
            while (reply := reader.gets()) is not False:
                self.take(reply)
        except (hiredis.ProtocolError, IndexError):
            self.abort()

    def take(self, reply: Reply | Exception) -> None:
        """Hands it to whoever waits for it. Raises IndexError for one that nobody has asked for."""
        self._waiting.popleft().take(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        waiting, self._waiting = self._waiting, deque()
        for trip in waiting:
            trip.fail("the connection to Redis was lost")
        self._when_lost()

    @property
    def owed(self) -> int:
        """Replies that have not come yet, whoever waits for them."""
        return len(self._waiting)

    def send(self, commands: Sequence[Command], allowed: float) -> Trip:
        if self.closed or len(self._waiting) + len(commands) > BACKLOG:
            raise MemoryUnavailable("Redis is not taking commands")
        if allowed <= 0:
            raise MemoryUnavailable("there was no time left to ask Redis in")
        if not self._waiting:
            self._heard = self._loop.time()
        if not self._watched:
            self._watched = True
            self._loop.call_later(SILENCE_SECONDS, self._watch)
        if not self._leaving:
            self._loop.call_soon(self._flush)
        trip = Trip(self._loop, len(commands), allowed)
        for command in commands:
            self._outgoing.append(hiredis.pack_command(command))  # type: ignore[arg-type]  # its stub allows one argument only
            self._waiting.append(trip)
        self._leaving.append(trip)
        return trip

    def _flush(self) -> None:
        outgoing, self._outgoing = self._outgoing, []
        leaving, self._leaving = self._leaving, []
        if self._transport is not None and not self.closed:
            self._transport.write(b"".join(outgoing))
        for trip in leaving:
            trip.left()

    def _watch(self) -> None:
        """Ends a connection that has been silent for too long, though nobody asks any more: a breaker may be open."""
        left = self._heard + SILENCE_SECONDS - self._loop.time()
        self._watched = bool(self._waiting) and not self.closed
        if self._watched and left > 0:
            self._loop.call_later(left, self._watch)
        elif self._watched:
            self.abort()

    def abort(self) -> None:
        self.closed = True
        if self._transport is not None:
            self._transport.abort()
