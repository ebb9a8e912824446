"""One connection to Redis that all concurrent calls share.

A pool pays a write, a wake-up and a parse for each command. Here, commands issued in the same turn of the event loop
leave in one write, and replies, which RESP returns in order, are handed out as they come: with many calls at once the
cost of a trip falls instead of growing. (The idea is pipelining, Redis documentation, "Using pipelining to speed up
queries"; that order is guaranteed for one connection is part of the protocol specification.)
"""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import ssl
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from session.failures import MemoryRefused, MemoryUnavailable
from session.redis.address import RedisAddress
from session.redis.keyvalue import Command, Evaluation, Reply, Step
from session.redis.wire import Wire
from session.resilience.deadline import Deadline
from session.resilience.outage import Outage
from session.resilience.tasks import start_task

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 1.0
REDIAL_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 1.0
DIALS = 3
"""In vain, one after the other, before a Redis that was never there is told of: one that just starts refuses the first."""


class MultiplexedRedis:
    """`KeyValue` over one shared connection, dialled again in the background whenever it is lost.

    A trip while there is no connection fails at once instead of waiting for one: the caller has a turn to answer.
    """

    def __init__(
        self,
        address: RedisAddress,
        credentials: Callable[[], tuple[str, str]] | None = None,
        when_lost: Callable[[], None] | None = None,
    ) -> None:
        """`credentials` gives user and password anew for each connection; it may block."""
        self._address = address
        self._credentials = credentials
        self._when_lost = when_lost
        # For names and credentials, which block. One thread, so that what hangs there never holds a second.
        self._thread = ThreadPoolExecutor(1, "redis-dial")
        self._wire: Wire | None = None
        self._dialling: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()
        self._closing = False
        self._outage = Outage(logger, _named(address), after=DIALS)

    @property
    def host(self) -> str:
        return self._address.host

    @property
    def connected(self) -> bool:
        return self._wire is not None and not self._wire.closed

    async def connect(self, deadline: Deadline) -> None:
        """Waits for a first connection, at most until the deadline. Never raises: without one, trips say so."""
        self._dial()
        if self._dialling is not None:
            await asyncio.wait({self._dialling}, timeout=deadline.remaining())

    async def tried(self, deadline: Deadline) -> None:
        """Waits for the end of the very first attempt to connect, good or bad, at most until the deadline."""
        if not self._tried.is_set():
            self._dial()
            with suppress(TimeoutError):
                async with asyncio.timeout(deadline.remaining()):
                    await self._tried.wait()

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        wire = self.wire()
        commands = [step.by_digest() if isinstance(step, Evaluation) else step for step in steps]
        replies = await wire.send(commands, deadline.remaining()).replies()
        if any(map(is_unknown_script, replies)):
            return await self._evaluate_by_text(wire, steps, replies, deadline)
        return replies

    def wire(self) -> Wire:
        """The connection. Raises `MemoryUnavailable` while there is none."""
        if self._wire is not None and not self._wire.closed:
            return self._wire
        self._dial()
        raise MemoryUnavailable("Redis is not connected")

    async def aclose(self) -> None:
        self.close()
        if self._dialling is not None:
            await asyncio.gather(self._dialling, return_exceptions=True)

    def close(self) -> None:
        """What is under way fails; what dials ends in the loop's next turn."""
        self._closing = True
        self._tried.set()
        if self._dialling is not None:
            self._dialling.cancel()
        if self._wire is not None:
            self._wire.abort()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _evaluate_by_text(
        self, wire: Wire, steps: Sequence[Step], replies: list[Reply | Exception], deadline: Deadline
    ) -> list[Reply | Exception]:
        again = [
            (place, step.by_text())
            for place, (step, reply) in enumerate(zip(steps, replies, strict=True))
            if isinstance(step, Evaluation) and is_unknown_script(reply)
        ]
        answers = await wire.send([command for _, command in again], deadline.remaining()).replies()
        for (place, _), answer in zip(again, answers, strict=True):
            replies[place] = answer
        return replies

    def _lost(self) -> None:
        if not self._closing:
            self._outage.failed("the connection has ended", for_good=True)
        self._dial()
        if self._when_lost is not None and not self._closing:
            self._when_lost()

    def _dial(self) -> None:
        if not self._closing and (self._dialling is None or self._dialling.done()):
            self._dialling = start_task(self._dial_until_connected(), "redis-dial")

    async def _dial_until_connected(self) -> None:
        pause = REDIAL_SECONDS
        while not self.connected:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    self._wire = await self._greet()
            except Exception as failure:  # whatever it was: without this task there would never be a connection again
                self._outage.failed(_why(failure))
                self._tried.set()
                # Half of it by chance: a Redis that comes back is not greeted by all who lost it at the same moment.
                await asyncio.sleep(pause * (0.5 + random.random() / 2))
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        self._outage.over()
        self._tried.set()

    async def _greet(self) -> Wire:
        wire = await self._open()
        try:
            for command in await self._greeting():
                (reply,) = await wire.send([command], CONNECT_SECONDS).replies()
                if isinstance(reply, Exception):
                    raise MemoryRefused("Redis refused the greeting (user, password or database)")
        except BaseException:
            wire.abort()
            raise
        return wire

    async def _open(self) -> Wire:
        loop, address = asyncio.get_running_loop(), self._address
        if address.path is not None:
            return (await loop.create_unix_connection(lambda: Wire(loop, self._lost), address.path))[1]
        # asyncio would ask for the name itself, in a pool that others use and in one more thread each time it is tried.
        await loop.run_in_executor(self._thread, socket.getaddrinfo, address.host, address.port)
        try:
            return await self._connection(loop, None)
        except ssl.SSLCertVerificationError:
            if address.certified is None:
                raise
            return await self._connection(loop, address.certified)

    async def _connection(self, loop: asyncio.AbstractEventLoop, name: str | None) -> Wire:
        host, port, tls = self._address.host, self._address.port, self._address.tls
        return (await loop.create_connection(lambda: Wire(loop, self._lost), host, port, ssl=tls, server_hostname=name))[1]

    async def _greeting(self) -> list[Command]:
        address, loop = self._address, asyncio.get_running_loop()
        commands = [Command(("PING",))]
        if self._credentials is not None:
            # Finding AWS credentials may ask another server: not on the event loop.
            commands.insert(0, Command(("AUTH", *await loop.run_in_executor(self._thread, self._credentials))))
        elif address.password is not None:
            user = (address.username,) if address.username else ()
            commands.insert(0, Command(("AUTH", *user, address.password)))
        if address.database:
            commands.append(Command(("SELECT", address.database)))
        return commands


def _named(address: RedisAddress) -> str:
    return "Redis (on a Unix socket)" if address.path is not None else f"Redis at {address.host}:{address.port}"


def _why(failure: Exception) -> str:
    """What the network says, or this package; never what somebody else's text may hold."""
    if isinstance(failure, MemoryUnavailable | MemoryRefused):
        return str(failure)
    said = failure.strerror if isinstance(failure, OSError) else None
    return f"{type(failure).__name__}, {said}" if said else type(failure).__name__


def is_unknown_script(reply: Reply | Exception) -> bool:
    return isinstance(reply, MemoryRefused) and str(reply).startswith("NOSCRIPT")
