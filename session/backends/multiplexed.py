"""One connection to Redis that all concurrent calls share.

A pool pays a write, a wake-up and a parse for each command. Here, commands issued in the same turn of the event loop
leave in one write, and replies, which RESP returns in order, are handed out as they come: with many calls at once the
cost of a trip falls instead of growing. (The idea is pipelining, Redis documentation, "Using pipelining to speed up
queries"; that order is guaranteed for one connection is part of the protocol specification.)

Parsing and packing are hiredis's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

import hiredis

from session.backends.address import RedisAddress
from session.deadline import Deadline
from session.failures import MemoryRefused, MemoryUnavailable
from session.keyvalue import Command, Evaluation, Reply, Step

CONNECT_SECONDS = 1.0
SILENCE_SECONDS = 1.0
"""A connection that owes replies and has said nothing for so long is taken for dead (a stopped process, a lost link)."""
REDIAL_SECONDS = 0.1
LOOKS = 2
"""Turns of the loop until whatever had arrived when the time was up has been read: one to find it, one to read it."""
BACKLOG = 20_000
"""Replies owed beyond which no more is sent: memory stays bounded while Redis hangs."""


class _Trip:
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

    def forget_time(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _late(self, looks: int) -> None:
        if self.done.done():
            return
        if looks:
            self._loop.call_soon(self._late, looks - 1)
        else:
            self.fail("Redis did not answer in time")


class _Wire(asyncio.Protocol):
    """The byte side: a buffer of what leaves at the end of this loop turn, and a queue of who waits for what."""

    def __init__(self, loop: asyncio.AbstractEventLoop, when_lost: Callable[[], None]) -> None:
        self._loop = loop
        self._when_lost = when_lost
        self._reader = hiredis.Reader(replyError=MemoryRefused)
        self._outgoing: list[bytes] = []
        self._leaving: list[_Trip] = []
        self._waiting: deque[_Trip] = deque()
        self._transport: asyncio.Transport | None = None
        self._heard = loop.time()
        self.closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        reader, waiting = self._reader, self._waiting
        reader.feed(data)
        try:
            while (reply := reader.gets()) is not False:
                waiting.popleft().take(reply)
        except (hiredis.ProtocolError, IndexError):
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        waiting, self._waiting = self._waiting, deque()
        for trip in waiting:
            trip.fail("the connection to Redis was lost")
        self._when_lost()

    def silent(self) -> bool:
        return bool(self._waiting) and self._loop.time() - self._heard > SILENCE_SECONDS

    def send(self, commands: Sequence[Command], allowed: float) -> _Trip:
        if self.closed or len(self._waiting) + len(commands) > BACKLOG:
            raise MemoryUnavailable("Redis is not taking commands")
        if allowed <= 0:
            raise MemoryUnavailable("there was no time left to ask Redis in")
        if not self._waiting:
            self._heard = self._loop.time()
        if not self._leaving:
            self._loop.call_soon(self._flush)
        trip = _Trip(self._loop, len(commands), allowed)
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

    def abort(self) -> None:
        self.closed = True
        if self._transport is not None:
            self._transport.abort()


class MultiplexedRedis:
    """`KeyValue` over one shared connection, dialled again in the background whenever it is lost.

    A trip while there is no connection fails at once instead of waiting for one: the caller has a turn to answer.
    """

    def __init__(self, address: RedisAddress, credentials: Callable[[], tuple[str, str]] | None = None) -> None:
        """`credentials` gives user and password anew for each connection; it may block."""
        self._address = address
        self._credentials = credentials
        self._wire: _Wire | None = None
        self._dialling: asyncio.Task[None] | None = None
        self._closing = False

    async def connect(self, deadline: Deadline) -> None:
        """Waits for a first connection, at most until the deadline. Never raises: without one, trips say so."""
        self._dial()
        if self._dialling is not None:
            await asyncio.wait({self._dialling}, timeout=deadline.remaining())

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        wire = self._live()
        commands = [step.by_digest() if isinstance(step, Evaluation) else step for step in steps]
        replies = await _replies(wire.send(commands, deadline.remaining()))
        if any(map(_is_unknown_script, replies)):
            return await self._evaluate_by_text(wire, steps, replies, deadline)
        return replies

    async def aclose(self) -> None:
        self._closing = True
        if self._dialling is not None:
            self._dialling.cancel()
            await asyncio.gather(self._dialling, return_exceptions=True)
        if self._wire is not None:
            self._wire.abort()

    async def _evaluate_by_text(
        self, wire: _Wire, steps: Sequence[Step], replies: list[Reply | Exception], deadline: Deadline
    ) -> list[Reply | Exception]:
        again = [
            (place, step.by_text())
            for place, (step, reply) in enumerate(zip(steps, replies, strict=True))
            if isinstance(step, Evaluation) and _is_unknown_script(reply)
        ]
        answers = await _replies(wire.send([command for _, command in again], deadline.remaining()))
        for (place, _), answer in zip(again, answers, strict=True):
            replies[place] = answer
        return replies

    def _live(self) -> _Wire:
        wire = self._wire
        if wire is not None and not wire.closed and not wire.silent():
            return wire
        if wire is not None:
            wire.abort()
        self._dial()
        raise MemoryUnavailable("Redis is not connected")

    def _dial(self) -> None:
        if not self._closing and (self._dialling is None or self._dialling.done()):
            self._dialling = asyncio.create_task(self._dial_until_connected(), name="redis-dial")

    async def _dial_until_connected(self) -> None:
        pause = REDIAL_SECONDS
        while self._wire is None or self._wire.closed:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    self._wire = await self._greet()
                return
            except (OSError, TimeoutError, MemoryUnavailable, MemoryRefused):
                await asyncio.sleep(pause)
                pause = min(2 * pause, 1.0)

    async def _greet(self) -> _Wire:
        wire = await self._open()
        try:
            for command in await self._greeting():
                (reply,) = await _replies(wire.send([command], CONNECT_SECONDS))
                if isinstance(reply, Exception):
                    raise MemoryRefused("Redis refused the greeting (user, password or database)")
        except BaseException:
            wire.abort()
            raise
        return wire

    async def _open(self) -> _Wire:
        loop, address = asyncio.get_running_loop(), self._address
        if address.path is not None:
            _, wire = await loop.create_unix_connection(lambda: _Wire(loop, self._dial), address.path)
        else:
            _, wire = await loop.create_connection(
                lambda: _Wire(loop, self._dial), address.host, address.port, ssl=address.tls
            )
        return wire

    async def _greeting(self) -> list[Command]:
        address = self._address
        commands = [Command(("PING",))]
        if self._credentials is not None:
            # Finding AWS credentials may ask another server: not on the event loop.
            commands.insert(0, Command(("AUTH", *await asyncio.to_thread(self._credentials))))
        elif address.password is not None:
            user = (address.username,) if address.username else ()
            commands.insert(0, Command(("AUTH", *user, address.password)))
        if address.database:
            commands.append(Command(("SELECT", address.database)))
        return commands


async def _replies(trip: _Trip) -> list[Reply | Exception]:
    try:
        return await trip.done
    finally:
        trip.forget_time()


def _is_unknown_script(reply: Reply | Exception) -> bool:
    return isinstance(reply, MemoryRefused) and str(reply).startswith("NOSCRIPT")
