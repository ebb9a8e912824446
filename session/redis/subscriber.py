"""Subscription to one channel, on a connection of its own.

Delivery is at most once: after a lost connection, a subscriber must read the state again. In a cluster, messages reach every
node, except those of sharded channels, which belong to one node (Redis documentation, "Redis Pub/Sub")."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, Protocol

from session.failures import MemoryRefused, MemoryUnavailable
from session.redis.keyvalue import Command, KeyValue, Reply
from session.redis.multiplexed import Dialer, Wire, reason, redial_pauses
from session.resilience.breaker import Outage
from session.resilience.tasks import wait_for

logger = logging.getLogger(__name__)

PING_SECONDS = 2.0
ANSWER_SECONDS = 1.0
FAILURES = 3
"""Failures in a row after which an outage is logged; a short restart of Redis causes fewer."""
PING = Command(("PING",))
MESSAGES = (b"message", b"smessage")


class Redis(KeyValue, Protocol):
    """A `KeyValue` whose dialers open connections for subscribers: `dialer` and, for sharded channels, `dialer_of`."""

    is_sharded: bool
    """True for a cluster, where each key and each sharded channel is on one node."""

    @property
    def dialer(self) -> Dialer: ...

    def dialer_of(self, channel: str) -> Dialer:
        """Returns the dialer of the node that serves this sharded channel; `dialer` if no such node is known."""
        ...


class ListeningWire(Wire):
    """Connection that passes messages' payloads to `heard`, which must not raise. Closes if a sharded channel moves."""

    def __init__(self, *connection: Any, heard: Callable[[bytes], None]) -> None:
        super().__init__(*connection)
        self._hear = heard

    def take(self, reply: Reply | Exception) -> None:
        if isinstance(reply, list) and len(reply) == 3 and reply[0] in MESSAGES:
            self._hear(reply[2])
        elif isinstance(reply, list) and reply and reply[0] == b"sunsubscribe":
            self.abort()  # unsolicited: the channel is moving to another node
        else:
            super().take(reply)


class Subscriber:
    """Keeps a subscription to `channel` while `listen` runs. `one_node`: use a sharded channel if Redis is a cluster.
    `about`: name in the log. `listening`: set while subscribed."""

    def __init__(
        self, redis: Redis, channel: str, *, one_node: bool = False, about: str = "the channel of changes in Redis"
    ) -> None:
        self._redis = redis
        self._channel = channel
        self._sharded = one_node and redis.is_sharded
        self._pauses = redial_pauses()
        self._outage = Outage(logger, about, after=FAILURES)
        self.listening = asyncio.Event()

    async def listen(self, heard: Callable[[bytes], None], begun: Callable[[], None]) -> NoReturn:
        """Passes the payloads of messages to `heard` until cancelled. Calls `begun` at the start of each subscription, since
        messages before it may have been missed. Neither callback may raise."""
        while True:
            try:
                await self._listen_once(heard, begun)
            except Exception as failure:  # all: this loop must go on, or no message would be received again
                self._outage.record_failure(reason(failure))
            await asyncio.sleep(next(self._pauses))

    async def _listen_once(self, heard: Callable[[bytes], None], begun: Callable[[], None]) -> NoReturn:
        lost, dialer = asyncio.Event(), self._redis.dialer_of(self._channel) if self._sharded else self._redis.dialer
        wire = await dialer.dial(lost.set, partial(ListeningWire, heard=heard))
        try:
            await _ask(wire, Command(("SSUBSCRIBE" if self._sharded else "SUBSCRIBE", self._channel)))
            self._outage.record_recovery()
            self._pauses = redial_pauses()
            self.listening.set()
            begun()
            while not await wait_for(lost, PING_SECONDS):
                if dialer.closed:
                    raise MemoryUnavailable("that node has left the cluster")
                await _ask(wire, PING)
            raise MemoryUnavailable("the connection has ended")
        finally:
            self.listening.clear()
            wire.abort()


async def _ask(wire: Wire, command: Command) -> None:
    (reply,) = await wire.send([command], ANSWER_SECONDS).replies()
    if isinstance(reply, MemoryRefused):
        raise MemoryRefused("Redis does not let this user listen to the channel")
