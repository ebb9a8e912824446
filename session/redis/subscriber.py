"""What is published on one channel, heard over a connection of its own.

Nothing is kept for who is away: whoever hears again after a loss has to look at everything. (Redis documentation, "Redis
Pub/Sub": delivery at most once; in a cluster every node passes on what is published on another.)
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn, Protocol

from session.failures import MemoryRefused, MemoryUnavailable
from session.redis.dialer import Dialer, reason
from session.redis.keyvalue import Command, KeyValue, Reply
from session.redis.wire import Wire
from session.resilience.outage import Outage

logger = logging.getLogger(__name__)

PING_SECONDS = 2.0
"""After so long without a word it is asked whether anybody is there."""
ANSWER_SECONDS = 1.0
REDIAL_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 1.0
FAILURES = 3
"""In a row, before it is told of: a Redis that only starts again is not worth a word."""
PING = Command(("PING",))


class Redis(KeyValue, Protocol):
    """A `KeyValue` on which messages can be heard as well: `dialer` leads to where."""

    @property
    def dialer(self) -> Dialer: ...


class ListeningWire(Wire):
    """A message stands between the replies and answers nobody. `heard` must not raise."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, when_lost: Callable[[], None], heard: Callable[[bytes], None]
    ) -> None:
        super().__init__(loop, when_lost)
        self._hear = heard

    def take(self, reply: Reply | Exception) -> None:
        if isinstance(reply, list) and len(reply) == 3 and reply[0] == b"message":
            self._hear(reply[2])
        else:
            super().take(reply)


class Subscriber:
    """Stays subscribed to `channel` for as long as it listens."""

    def __init__(self, redis: Redis, channel: str) -> None:
        self._redis = redis
        self._channel = channel
        self._pause = REDIAL_SECONDS
        self._outage = Outage(logger, "the channel of changes in Redis", after=FAILURES)

    async def listen(self, heard: Callable[[bytes], None], begun: Callable[[], None]) -> NoReturn:
        """Runs until cancelled, whatever becomes of Redis. `begun` is told each time that everything is `heard` from now on;
        what was published before may have been missed. Neither may raise."""
        while True:
            try:
                await self._listen_once(heard, begun)
            except Exception as failure:  # whatever it was: without this loop nothing would ever be heard again
                self._outage.failed(reason(failure))
            # Half of it by chance: a Redis that comes back is not greeted by all who lost it at the same moment.
            await asyncio.sleep(self._pause * (0.5 + random.random() / 2))
            self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)

    async def _listen_once(self, heard: Callable[[bytes], None], begun: Callable[[], None]) -> NoReturn:
        lost, dialer = asyncio.Event(), self._redis.dialer
        wire = await dialer.dial(lost.set, partial(ListeningWire, heard=heard))
        try:
            await _asked(wire, Command(("SUBSCRIBE", self._channel)))
            self._outage.over()
            self._pause = REDIAL_SECONDS
            begun()
            await self._until_lost(wire, lost, dialer)
        finally:
            wire.abort()

    async def _until_lost(self, wire: Wire, lost: asyncio.Event, dialer: Dialer) -> NoReturn:
        """Raises `MemoryUnavailable` when nothing is heard here any more, or may not be."""
        while not lost.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(PING_SECONDS):
                    await lost.wait()
                    continue
            if dialer.closed:
                raise MemoryUnavailable("that node has left the cluster")
            await _asked(wire, PING)
        raise MemoryUnavailable("the connection has ended")


async def _asked(wire: Wire, command: Command) -> None:
    (reply,) = await wire.send([command], ANSWER_SECONDS).replies()
    if isinstance(reply, MemoryRefused):
        raise MemoryRefused("Redis does not let this user listen to the channel")
