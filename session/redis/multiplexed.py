"""One Redis connection that all concurrent calls share.

Commands issued in the same iteration of the event loop leave in one write, and RESP returns replies in order. So the cost of
a round trip falls with concurrency instead of growing as in a pool. hiredis packs commands and parses replies."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import ssl
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import hiredis

from session.failures import MemoryRefused, MemoryUnavailable, Unanswered
from session.redis.address import RedisAddress
from session.redis.keyvalue import Command, Evaluation, Reply, Step
from session.resilience.breaker import Outage
from session.resilience.deadline import Deadline
from session.resilience.tasks import end_task, start_task

CONNECT_SECONDS = 1.0
SILENCE_SECONDS = 1.0
"""A connection with replies due is closed after this long a silence (a stopped process, a lost link)."""
LATE_READS = 2
"""Iterations of the event loop between timeout and failure: one finds data that has arrived, one reads the data."""
BACKLOG = 20_000
"""Most replies due on a connection, so that memory stays bounded while Redis hangs."""

Credentials = Callable[[], tuple[str, str]]
"""Returns user and password for a new connection; may block."""


class Trip:
    """Commands sent together. `done` gets their replies, in order, once all have arrived.

    The timeout of `allowed` seconds starts when the commands leave. When it ends, data that has arrived is read first, since
    under load much of the measured time is spent in this process."""

    __slots__ = ("_allowed", "_expected", "_loop", "_replies", "_timer", "done")

    def __init__(self, loop: asyncio.AbstractEventLoop, expected: int, allowed: float) -> None:
        self._loop = loop
        self._expected = expected
        self._allowed = allowed
        self._replies: list[Reply | Exception] = []
        self._timer: asyncio.TimerHandle | None = None
        self.done: asyncio.Future[list[Reply | Exception]] = loop.create_future()

    def start_timer(self) -> None:
        self._timer = self._loop.call_later(self._allowed, self._late, LATE_READS)

    def take(self, reply: Reply | Exception) -> None:
        self._replies.append(reply)
        if len(self._replies) == self._expected and not self.done.done():
            self.done.set_result(self._replies)

    def fail(self, why: str) -> None:
        if not self.done.done():
            self.done.set_exception(Unanswered(why))
            self.done.exception()  # marks it as retrieved, in case no caller waits any more

    async def replies(self) -> list[Reply | Exception]:
        """Waits for the replies and returns them in order. Raises `Unanswered`. If cancelled, drops late replies."""
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
    """asyncio protocol of one connection: a buffer, written once per event loop iteration, and a queue of due replies."""

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
        """Hands a reply to its round trip. Raises IndexError if no round trip is waiting."""
        self._waiting.popleft().take(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        waiting, self._waiting = self._waiting, deque()
        for trip in waiting:
            trip.fail("the connection to Redis was lost")
        self._when_lost()

    @property
    def owed_replies(self) -> int:
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
            self._outgoing.append(hiredis.pack_command(command))  # type: ignore[arg-type]  # its stub allows only one
            self._waiting.append(trip)
        self._leaving.append(trip)
        return trip

    def _flush(self) -> None:
        outgoing, self._outgoing = self._outgoing, []
        leaving, self._leaving = self._leaving, []
        if self._transport is not None and not self.closed:
            self._transport.write(b"".join(outgoing))
        for trip in leaving:
            trip.start_timer()

    def _watch(self) -> None:
        """Closes the connection after `SILENCE_SECONDS` without data while replies are due, even if no call is made."""
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
"""Makes a `Wire` from the event loop and a callback that is called when the connection is lost."""


class Dialer:
    """Opens connections and sends their greeting (AUTH, PING, SELECT). `credentials`: None for the address's password."""

    def __init__(self, address: RedisAddress, credentials: Credentials | None = None) -> None:
        self._address = address
        self._credentials = credentials
        # For name look-ups and credentials, which block: one thread, so that hanging look-ups do not pile up.
        self._thread = ThreadPoolExecutor(1, "redis-dial")
        self.closed = False

    async def dial(self, when_lost: Callable[[], None], make: MakeWire = Wire) -> Wire:
        """Opens a connection, sends the greeting and returns the connection. Calls `when_lost` when the connection ends,
        also if the greeting fails. Raises OSError (network, TLS), errors of `credentials`, TimeoutError after
        `CONNECT_SECONDS`, `MemoryUnavailable`, and `MemoryRefused` if Redis refuses the greeting."""
        async with asyncio.timeout(CONNECT_SECONDS):
            loop, credentials = asyncio.get_running_loop(), self._credentials
            wire = await self._open(partial(make, loop, when_lost))
            try:
                fetched = await loop.run_in_executor(self._thread, credentials) if credentials is not None else None
                for command in greeting(self._address, fetched):
                    (reply,) = await wire.send([command], CONNECT_SECONDS).replies()
                    if isinstance(reply, Exception):
                        raise MemoryRefused("Redis refused the greeting (user, password or database)")
            except BaseException:
                wire.abort()
                raise
            return wire

    def close(self) -> None:
        self.closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _open(self, make: Callable[[], Wire]) -> Wire:
        """Opens a connection without a greeting. If the certificate is invalid, tries the name `address.certified`, if
        any."""
        loop, address = asyncio.get_running_loop(), self._address
        if address.path is not None:
            return (await loop.create_unix_connection(make, address.path))[1]
        # Resolved here first: asyncio would use the default executor, and one more of its threads with each attempt.
        await loop.run_in_executor(self._thread, socket.getaddrinfo, address.host, address.port)

        async def connect(name: str | None) -> Wire:
            return (await loop.create_connection(make, address.host, address.port, ssl=address.tls, server_hostname=name))[1]

        try:
            return await connect(None)
        except ssl.SSLCertVerificationError:
            if address.certified is None:
                raise
            return await connect(address.certified)


def greeting(address: RedisAddress, fetched: tuple[str, str] | None) -> list[Command]:
    """Returns the first commands of a connection. `fetched`: user and password instead of the address's, or None."""
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
    """Returns why a connection failed, without secrets: quotes only own messages and the strerror of an OSError."""
    if isinstance(failure, MemoryUnavailable | MemoryRefused):
        return str(failure)
    said = failure.strerror if isinstance(failure, OSError) else None
    return f"{type(failure).__name__}, {said}" if said else type(failure).__name__


logger = logging.getLogger(__name__)

DIALS = 3
"""Failed attempts in a row before the outage is logged: a Redis that is starting refuses the first."""


def redial_pauses() -> Iterator[float]:
    """Yields the seconds between attempts to connect, doubling from 0.1 to 1.0. Half of each pause is random, so that
    clients that lost the same Redis do not all return at once."""
    pause = 0.1
    while True:
        yield pause * (0.5 + random.random() / 2)
        pause = min(2 * pause, 1.0)


class MultiplexedRedis:
    """`KeyValue` over one shared connection, redialled in the background. Without a connection, round trips fail at once."""

    is_sharded = False

    def __init__(self, address: RedisAddress, credentials: Credentials | None = None) -> None:
        self.address = address
        self.dialer = Dialer(address, credentials)
        self._wire: Wire | None = None
        self._dialling: asyncio.Task[None] | None = None
        self._closing = False
        self._away = False
        name = "Redis (on a Unix socket)" if address.path is not None else f"Redis at {address}"
        self._outage = Outage(logger, name, after=DIALS)

    @property
    def is_connected(self) -> bool:
        return self._wire is not None and not self._wire.closed

    @property
    def idle(self) -> bool:
        return self._wire is None or self._wire.closed or not self._wire.owed_replies

    async def connect(self, deadline: Deadline) -> None:
        """Waits for a connection, or until the deadline. Never raises: without a connection, round trips fail."""
        self._dial()
        if self._dialling is not None:
            await asyncio.wait({self._dialling}, timeout=deadline.remaining())

    async def connect_unless_away(self, deadline: Deadline) -> None:
        """Waits as `connect` does, but returns at once if the last connection was lost, or the last attempt failed."""
        if not self.is_connected and not self._away:
            await self.connect(deadline)

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        wire = self.wire()
        commands = [step.by_digest() if isinstance(step, Evaluation) else step for step in steps]
        replies = await wire.send(commands, deadline.remaining()).replies()
        again = {
            index: step.by_text()
            for index, step in enumerate(steps)
            if isinstance(step, Evaluation) and is_unknown_script(replies[index])
        }
        if again:
            answers = await wire.send([*again.values()], deadline.remaining()).replies()
            for index, answer in zip(again, answers, strict=True):
                replies[index] = answer
        return replies

    def wire(self) -> Wire:
        """Returns the connection. Without a connection, starts dialling and raises `MemoryUnavailable`."""
        if self._wire is not None and not self._wire.closed:
            return self._wire
        self._dial()
        raise MemoryUnavailable("Redis is not connected")

    async def aclose(self) -> None:
        """Closes the connection, upon which its round trips fail, and stops dialling."""
        self._closing = True
        if self._wire is not None:
            self._wire.abort()
        await end_task(self._dialling)
        self.dialer.close()

    def dialer_of(self, channel: str) -> Dialer:
        return self.dialer

    def _note_loss(self) -> None:
        self._away = True
        if not self._closing:
            self._outage.record_failure("the connection has ended", permanent=True)
        self._dial()

    def _dial(self) -> None:
        if not self._closing and (self._dialling is None or self._dialling.done()):
            self._dialling = start_task(self._dial_until_connected(), "redis-dial")

    async def _dial_until_connected(self) -> None:
        pauses = redial_pauses()
        while not self.is_connected:
            try:
                self._wire = await self.dialer.dial(self._note_loss)
            except Exception as failure:  # all: this task must go on, or no connection would be made again
                self._away = True
                self._outage.record_failure(reason(failure))
                await asyncio.sleep(next(pauses))
        self._away = False
        self._outage.record_recovery()


def is_unknown_script(reply: Reply | Exception) -> bool:
    return isinstance(reply, MemoryRefused) and str(reply).startswith("NOSCRIPT")
