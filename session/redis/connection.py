"""One connection to a Redis: it is opened and greeted, and shared by all who ask at once.

What is asked leaves at the end of a loop turn, and replies are handed out in their order. Parsing and packing are hiredis's.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import hiredis

from session.failures import MemoryRefused, MemoryUnavailable, Unanswered
from session.redis.address import RedisAddress
from session.redis.keyvalue import Command, Reply

CONNECT_SECONDS = 1.0
SILENCE_SECONDS = 1.0
"""A connection that owes replies and has said nothing for so long is taken for dead (a stopped process, a lost link)."""
LOOKS = 2
"""Turns of the loop until whatever had arrived when the time was up has been read: one to find it, one to read it."""
BACKLOG = 20_000
"""Replies owed beyond which no more is sent: memory stays bounded while Redis hangs."""

P = TypeVar("P", bound=asyncio.Protocol)
Credentials = Callable[[], tuple[str, str]]
"""Gives user and password anew for each connection; it may block."""


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
            self.done.set_exception(Unanswered(why))
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


MakeWire = Callable[[asyncio.AbstractEventLoop, Callable[[], None]], Wire]
"""Makes a connection's byte side, of the loop and of whom to tell when it is lost."""


class Dialer:
    """Makes connections, one at a time."""

    def __init__(self, address: RedisAddress, credentials: Credentials | None = None) -> None:
        self._address = address
        self._credentials = credentials
        # For names and credentials, which block. One thread, so that what hangs there never holds a second.
        self._thread = ThreadPoolExecutor(1, "redis-dial")
        self.closed = False

    async def dial(self, when_lost: Callable[[], None], make: MakeWire = Wire) -> Wire:
        """A connection that is greeted, within `CONNECT_SECONDS`. Raises whatever the network, the credentials or TLS raise,
        `MemoryUnavailable` where Redis falls silent and `MemoryRefused` where it does not let this user in."""
        async with asyncio.timeout(CONNECT_SECONDS):
            return await self._greeted(partial(make, asyncio.get_running_loop(), when_lost))

    def close(self) -> None:
        self.closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _greeted(self, make: Callable[[], Wire]) -> Wire:
        wire = (await self.open(make))[1]
        try:
            for command in greeting(self._address, await self.fetch_credentials()):
                (reply,) = await wire.send([command], CONNECT_SECONDS).replies()
                if isinstance(reply, Exception):
                    raise MemoryRefused("Redis refused the greeting (user, password or database)")
        except BaseException:
            wire.abort()
            raise
        return wire

    async def open(self, make: Callable[[], P]) -> tuple[asyncio.Transport, P]:
        """A connection that has not been greeted yet."""
        loop, address = asyncio.get_running_loop(), self._address
        if address.path is not None:
            return await loop.create_unix_connection(make, address.path)
        # asyncio would ask for the name itself, in a pool that others use and in one more thread each time it is tried.
        await loop.run_in_executor(self._thread, socket.getaddrinfo, address.host, address.port)
        try:
            return await self._connect(make, None)
        except ssl.SSLCertVerificationError:
            if address.certified is None:
                raise
            return await self._connect(make, address.certified)

    async def _connect(self, make: Callable[[], P], name: str | None) -> tuple[asyncio.Transport, P]:
        """Over TCP, by TLS with a certificate made out to `name`, or else to the host."""
        loop, address = asyncio.get_running_loop(), self._address
        return await loop.create_connection(make, address.host, address.port, ssl=address.tls, server_hostname=name)

    async def fetch_credentials(self) -> tuple[str, str] | None:
        """User and password. Finding AWS credentials may ask another server: not on the event loop."""
        if self._credentials is None:
            return None
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._credentials)


def greeting(address: RedisAddress, fetched: tuple[str, str] | None) -> list[Command]:
    """What is said first on a connection. `fetched` user and password stand in for those of the address."""
    commands = [Command(("PING",))]
    if fetched is not None:
        commands.insert(0, Command(("AUTH", *fetched)))
    elif address.password is not None:
        user = (address.username,) if address.username else ()
        commands.insert(0, Command(("AUTH", *user, address.password)))
    if address.database:
        commands.append(Command(("SELECT", address.database)))
    return commands


def reason(failure: Exception) -> str:
    """What the network says of a connection that did not come about, or this package; never what somebody else's text may
    hold."""
    if isinstance(failure, MemoryUnavailable | MemoryRefused):
        return str(failure)
    said = failure.strerror if isinstance(failure, OSError) else None
    return f"{type(failure).__name__}, {said}" if said else type(failure).__name__
