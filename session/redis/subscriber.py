"""What is published on one channel, heard over a connection of its own.

Nothing is kept for who is away: whoever hears again after a loss has to look at everything. (Redis documentation, "Redis
Pub/Sub": delivery at most once; in a cluster every node passes on what is published on another, but for sharded channels,
which one node has: there PUBLISH can tell who has heard.)
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
from session.redis.connection import Dialer, Wire, reason
from session.redis.keyvalue import Command, KeyValue, Reply
from session.resilience.breaker import Outage

logger = logging.getLogger(__name__)

PING_SECONDS = 2.0
"""After so long without a word it is asked whether anybody is there."""
ANSWER_SECONDS = 1.0
REDIAL_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 1.0
FAILURES = 3
"""In a row, before it is told of: a Redis that only starts again is not worth a word."""
PING = Command(("PING",))
MESSAGES = (b"message", b"smessage")


class Redis(KeyValue, Protocol):
    """A `KeyValue` on which messages can be heard as well: `dialer` leads to where."""

    @property
    def dialer(self) -> Dialer: ...

    @property
    def sharded(self) -> bool:
        """Whether each key, and each sharded channel, has a node of its own."""
        ...

    def dialer_of(self, channel: str) -> Dialer:
        """Leads to the node that has this sharded channel."""
        ...


class ListeningWire(Wire):
    """A message stands between the replies and answers nobody. `heard` must not raise."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, when_lost: Callable[[], None], heard: Callable[[bytes], None]
    ) -> None:
        super().__init__(loop, when_lost)
        self._hear = heard

    def take(self, reply: Reply | Exception) -> None:
        if isinstance(reply, list) and len(reply) == 3 and reply[0] in MESSAGES:
            self._hear(reply[2])
        elif isinstance(reply, list) and reply and reply[0] == b"sunsubscribe":
            self.abort()  # unasked: the channel is on its way to another node
        else:
            super().take(reply)


class Subscriber:
    """Stays subscribed to `channel` for as long as it listens. `one_node` takes a sharded channel where there are shards;
    `about` names it in the log. `listening` is set while everything is heard."""

    def __init__(
        self, redis: Redis, channel: str, *, one_node: bool = False, about: str = "the channel of changes in Redis"
    ) -> None:
        self._redis = redis
        self._channel = channel
        self._sharded = one_node and redis.sharded
        self._pause = REDIAL_SECONDS
        self._outage = Outage(logger, about, after=FAILURES)
        self.listening = asyncio.Event()

    async def listen(self, heard: Callable[[bytes], None], begun: Callable[[], None]) -> NoReturn:
        """Runs until cancelled, whatever becomes of Redis. `begun` is told each time that everything is `heard` from now on;
        what was published before may have been missed. Neither may raise."""
        while True:
            try:
                await self._listen_once(heard, begun)
            except Exception as failure:  # whatever it was: without this loop nothing would ever be heard again
                self._outage.record_failure(reason(failure))
            # Half of it by chance: a Redis that comes back is not greeted by all who lost it at the same moment.
            await asyncio.sleep(self._pause * (0.5 + random.random() / 2))
            self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)

    async def _listen_once(self, heard: Callable[[bytes], None], begun: Callable[[], None]) -> NoReturn:
        lost, dialer = asyncio.Event(), self._redis.dialer_of(self._channel) if self._sharded else self._redis.dialer
        wire = await dialer.dial(lost.set, partial(ListeningWire, heard=heard))
        try:
            await _asked(wire, Command(("SSUBSCRIBE" if self._sharded else "SUBSCRIBE", self._channel)))
            self._outage.record_recovery()
            self._pause = REDIAL_SECONDS
            self.listening.set()
            begun()
            await self._until_lost(wire, lost, dialer)
        finally:
            self.listening.clear()
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
