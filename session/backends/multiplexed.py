"""One connection to Redis that all concurrent calls share.

A pool pays a write, a wake-up and a parse for each command. Here, commands issued in the same turn of the event loop
leave in one write, and replies, which RESP returns in order, are handed out as they come: with many calls at once the
cost of a trip falls instead of growing. (The idea is pipelining, Redis documentation, "Using pipelining to speed up
queries"; that order is guaranteed for one connection is part of the protocol specification.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from session.backends.address import RedisAddress
from session.backends.wire import Trip, Wire
from session.deadline import Deadline
from session.failures import MemoryRefused, MemoryUnavailable
from session.keyvalue import Command, Evaluation, Reply, Step

CONNECT_SECONDS = 1.0
REDIAL_SECONDS = 0.1


class MultiplexedRedis:
    """`KeyValue` over one shared connection, dialled again in the background whenever it is lost.

    A trip while there is no connection fails at once instead of waiting for one: the caller has a turn to answer.
    """

    def __init__(self, address: RedisAddress, credentials: Callable[[], tuple[str, str]] | None = None) -> None:
        """`credentials` gives user and password anew for each connection; it may block."""
        self._address = address
        self._credentials = credentials
        self._wire: Wire | None = None
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
        self, wire: Wire, steps: Sequence[Step], replies: list[Reply | Exception], deadline: Deadline
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

    def _live(self) -> Wire:
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

    async def _greet(self) -> Wire:
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

    async def _open(self) -> Wire:
        loop, address = asyncio.get_running_loop(), self._address
        if address.path is not None:
            _, wire = await loop.create_unix_connection(lambda: Wire(loop, self._dial), address.path)
        else:
            _, wire = await loop.create_connection(
                lambda: Wire(loop, self._dial), address.host, address.port, ssl=address.tls
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


async def _replies(trip: Trip) -> list[Reply | Exception]:
    try:
        return await trip.done
    finally:
        trip.forget_time()


def _is_unknown_script(reply: Reply | Exception) -> bool:
    return isinstance(reply, MemoryRefused) and str(reply).startswith("NOSCRIPT")
