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
from typing import Any

import hiredis

from session.backends.address import RedisAddress
from session.deadline import Deadline
from session.failures import MemoryRefused, MemoryUnavailable
from session.keyvalue import Command, Evaluation, Reply, Step

CONNECT_SECONDS = 1.0
SILENCE_SECONDS = 1.0
"""A connection that owes replies and has said nothing for so long is taken for dead (a stopped process, a lost link)."""
REDIAL_SECONDS = 0.1
BACKLOG = 20_000
"""Replies owed beyond which no more is sent: memory stays bounded while Redis hangs."""


class _Wire(asyncio.Protocol):
    """The byte side: a buffer of what leaves at the end of this loop turn, and a queue of who waits for what."""

    def __init__(self, loop: asyncio.AbstractEventLoop, when_lost: Callable[[], None]) -> None:
        self._loop = loop
        self._when_lost = when_lost
        self._reader = hiredis.Reader(replyError=MemoryRefused)
        self._outgoing: list[bytes] = []
        self._waiting: deque[asyncio.Future[Reply]] = deque()
        self._transport: asyncio.Transport | None = None
        self._heard = loop.time()
        self.closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        self._reader.feed(data)
        try:
            while (reply := self._reader.gets()) is not False:
                waiter = self._waiting.popleft()
                if not waiter.done():
                    waiter.set_result(reply)
        except (hiredis.ProtocolError, IndexError):
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        waiting, self._waiting = self._waiting, deque()
        for waiter in waiting:
            if not waiter.done():
                waiter.set_exception(MemoryUnavailable("the connection to Redis was lost"))
                waiter.exception()  # whoever stopped waiting is not an error to report
        self._when_lost()

    def silent(self) -> bool:
        return bool(self._waiting) and self._loop.time() - self._heard > SILENCE_SECONDS

    def send(self, command: Command) -> asyncio.Future[Reply]:
        if self.closed or len(self._waiting) >= BACKLOG:
            raise MemoryUnavailable("Redis is not taking commands")
        if not self._waiting:
            self._heard = self._loop.time()
        if not self._outgoing:
            self._loop.call_soon(self._flush)
        self._outgoing.append(hiredis.pack_command(command))  # type: ignore[arg-type]  # its stub allows one argument only
        waiter: asyncio.Future[Reply] = self._loop.create_future()
        self._waiting.append(waiter)
        return waiter

    def _flush(self) -> None:
        outgoing, self._outgoing = self._outgoing, []
        if self._transport is not None and not self.closed:
            self._transport.write(outgoing[0] if len(outgoing) == 1 else b"".join(outgoing))

    def abort(self) -> None:
        self.closed = True
        if self._transport is not None:
            self._transport.abort()


class MultiplexedRedis:
    """`KeyValue` over one shared connection, dialled again in the background whenever it is lost.

    A trip while there is no connection fails at once instead of waiting for one: the caller has a turn to answer.
    """

    def __init__(self, address: RedisAddress) -> None:
        self._address = address
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
        waiters = [wire.send(step.by_digest() if isinstance(step, Evaluation) else step) for step in steps]
        replies = await self._collect(waiters, deadline)
        unknown = [i for i, reply in enumerate(replies) if _is_unknown_script(reply)]
        if unknown:
            await self._evaluate_by_text(wire, steps, unknown, replies, deadline)
        return replies

    async def aclose(self) -> None:
        self._closing = True
        if self._dialling is not None:
            self._dialling.cancel()
            await asyncio.gather(self._dialling, return_exceptions=True)
        if self._wire is not None:
            self._wire.abort()

    async def _evaluate_by_text(
        self, wire: _Wire, steps: Sequence[Step], places: list[int], replies: list[Any], deadline: Deadline
    ) -> None:
        waiters = []
        for place in places:
            step = steps[place]
            assert isinstance(step, Evaluation)
            waiters.append(wire.send(step.by_text()))
        for place, reply in zip(places, await self._collect(waiters, deadline), strict=True):
            replies[place] = reply

    async def _collect(self, waiters: list[asyncio.Future[Reply]], deadline: Deadline) -> list[Reply | Exception]:
        # Replies come in order, so the last one's arrival is everyone's.
        last = waiters[-1]
        try:
            async with asyncio.timeout(deadline.remaining()):
                await last
        except TimeoutError:
            raise MemoryUnavailable("Redis did not answer in time") from None
        return [waiter.result() for waiter in waiters]

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
            for command in self._greeting():
                reply = await wire.send(command)
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

    def _greeting(self) -> list[Command]:
        address = self._address
        commands = [Command(("PING",))]
        if address.password is not None:
            user = (address.username,) if address.username else ()
            commands.insert(0, Command(("AUTH", *user, address.password)))
        if address.database:
            commands.append(Command(("SELECT", address.database)))
        return commands


def _is_unknown_script(reply: Reply | Exception) -> bool:
    return isinstance(reply, MemoryRefused) and str(reply).startswith("NOSCRIPT")
