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
from collections.abc import Sequence

from session.failures import MemoryRefused, MemoryUnavailable
from session.redis.address import RedisAddress
from session.redis.connection import Credentials, Dialer, Wire, reason
from session.redis.keyvalue import Evaluation, Reply, Step
from session.resilience.breaker import Outage
from session.resilience.deadline import Deadline
from session.resilience.tasks import start_task

logger = logging.getLogger(__name__)

REDIAL_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 1.0
DIALS = 3
"""In vain, one after the other, before a Redis that was never there is told of: one that just starts refuses the first."""


class MultiplexedRedis:
    """`KeyValue` over one shared connection, dialled again in the background whenever it is lost.

    A trip while there is no connection fails at once instead of waiting for one: the caller has a turn to answer.
    """

    def __init__(self, address: RedisAddress, credentials: Credentials | None = None) -> None:
        self.address = address
        self.dialer = Dialer(address, credentials)
        self._wire: Wire | None = None
        self._dialling: asyncio.Task[None] | None = None
        self._closing = False
        self._away = False
        self._outage = Outage(logger, _named(address), after=DIALS)

    @property
    def connected(self) -> bool:
        return self._wire is not None and not self._wire.closed

    @property
    def idle(self) -> bool:
        """Whether no reply is owed here."""
        return self._wire is None or self._wire.closed or not self._wire.owed

    async def connect(self, deadline: Deadline) -> None:
        """Waits for a first connection, at most until the deadline. Never raises: without one, trips say so."""
        self._dial()
        if self._dialling is not None:
            await asyncio.wait({self._dialling}, timeout=deadline.remaining())

    async def connect_unless_away(self, deadline: Deadline) -> None:
        """As `connect`, but a server that has been lost, or was not reached, is not waited for."""
        if not self.connected and not self._away:
            await self.connect(deadline)

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
        """What is under way fails, and nothing is dialled again."""
        self._closing = True
        if self._wire is not None:
            self._wire.abort()
        if self._dialling is not None:
            self._dialling.cancel()
            await asyncio.gather(self._dialling, return_exceptions=True)
        self.dialer.close()

    @property
    def sharded(self) -> bool:
        return False

    def dialer_of(self, channel: str) -> Dialer:
        return self.dialer

    async def _evaluate_by_text(
        self, wire: Wire, steps: Sequence[Step], replies: list[Reply | Exception], deadline: Deadline
    ) -> list[Reply | Exception]:
        again = [
            (index, step.by_text())
            for index, (step, reply) in enumerate(zip(steps, replies, strict=True))
            if isinstance(step, Evaluation) and is_unknown_script(reply)
        ]
        answers = await wire.send([command for _, command in again], deadline.remaining()).replies()
        for (index, _), answer in zip(again, answers, strict=True):
            replies[index] = answer
        return replies

    def _lost(self) -> None:
        self._away = True
        if not self._closing:
            self._outage.record_failure("the connection has ended", permanent=True)
        self._dial()

    def _dial(self) -> None:
        if not self._closing and (self._dialling is None or self._dialling.done()):
            self._dialling = start_task(self._dial_until_connected(), "redis-dial")

    async def _dial_until_connected(self) -> None:
        pause = REDIAL_SECONDS
        while not self.connected:
            try:
                self._wire = await self.dialer.dial(self._lost)
            except Exception as failure:  # whatever it was: without this task there would never be a connection again
                self._away = True
                self._outage.record_failure(reason(failure))
                # Half of it by chance: a Redis that comes back is not greeted by all who lost it at the same moment.
                await asyncio.sleep(pause * (0.5 + random.random() / 2))
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        self._away = False
        self._outage.record_recovery()


def _named(address: RedisAddress) -> str:
    return "Redis (on a Unix socket)" if address.path is not None else f"Redis at {address.host}:{address.port}"


def is_unknown_script(reply: Reply | Exception) -> bool:
    return isinstance(reply, MemoryRefused) and str(reply).startswith("NOSCRIPT")
