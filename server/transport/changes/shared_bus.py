"""The events of all replicas: who listens in this process is told at once, other processes as soon as Redis lets them."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import NoReturn

from mcp.server.subscriptions import InMemorySubscriptionBus, ServerEvent, ToolsListChanged

from server.transport.changes.message import read, write
from server.transport.changes.pending import Pending
from session.failures import MemoryRefused, MemoryUnavailable
from session.keys import CHANGES
from session.redis.keyvalue import Command
from session.redis.subscriber import FAILURES, Redis, Subscriber
from session.resilience.deadline import Deadline
from session.resilience.outage import Outage

logger = logging.getLogger(__name__)

PUBLISH_SECONDS = 0.5
AGAIN_SECONDS = 0.2


class SharedBus:
    """A `SubscriptionBus` of the SDK's. Nobody waits for Redis: what it does not take is kept until it does, and after it
    was away everything counts as changed, since something may have been missed."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._subscriber = Subscriber(redis, CHANGES)
        self._here = InMemorySubscriptionBus()
        self._own = uuid.uuid4().hex
        self._heard, self._unsaid = Pending(), Pending()
        self._outage = Outage(logger, "the publishing of changes in Redis", after=FAILURES)

    async def publish(self, event: ServerEvent) -> None:
        self._unsaid.put(event)
        await self._here.publish(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        return self._here.subscribe(listener)

    async def keep(self) -> None:
        """Talks with the others until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._subscriber.listen(self._hear, self._look), name="changes-hear")
            group.create_task(self._deliver(), name="changes-deliver")
            group.create_task(self._say(), name="changes-say")

    def _hear(self, message: bytes) -> None:
        if (event := read(message, self._own)) is not None:
            self._heard.put(event)

    def _look(self) -> None:
        self._heard.put(ToolsListChanged())

    async def _deliver(self) -> NoReturn:
        while True:
            for event in await self._heard.take():
                await self._here.publish(event)

    async def _say(self) -> NoReturn:
        while True:
            events = await self._unsaid.take()
            try:
                await self._published(events)
            except (MemoryUnavailable, MemoryRefused) as failure:
                self._outage.failed(str(failure))
                for event in events:
                    self._unsaid.put(event)
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                self._outage.over()

    async def _published(self, events: list[ServerEvent]) -> None:
        messages = [Command(("PUBLISH", CHANGES, write(event, self._own))) for event in events]
        replies = await self._redis.trip(messages, Deadline.after(PUBLISH_SECONDS))
        if any(isinstance(reply, MemoryRefused) for reply in replies):
            raise MemoryRefused("Redis does not let this user publish")
