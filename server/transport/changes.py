"""The events of all replicas: who listens in this process is told at once, other processes as soon as Redis lets them."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    SubscriptionBus,
    ToolsListChanged,
)

from session.failures import MemoryRefused, MemoryUnavailable
from session.keys import CHANGES, owner
from session.memory import SessionMemory
from session.redis.keyvalue import Command
from session.redis.subscriber import FAILURES, Redis, Subscriber
from session.resilience.breaker import Outage
from session.resilience.deadline import Deadline
from tools.resources.built_in import HISTORY


@dataclass(frozen=True)
class OwnUpdated(ResourceUpdated):
    """A resource reads differently for one session and user, by their hash (`session.keys.owner`), and for nobody else."""

    owner: str


def as_heard_by(event: ServerEvent, owners: AbstractSet[str | None]) -> ServerEvent | None:
    """The event as a client that listens for these owners is told it; None where it is not for it to hear."""
    if isinstance(event, OwnUpdated):
        return ResourceUpdated(event.uri) if event.owner in owners else None
    return event


WINDOW_SECONDS = 1.0
"""Of a session that grows on and on, its listeners are told once in it."""
MOST_WAITING = 1024
"""Sessions of which something is to be told; what is told of more of them is lost."""


class OwnUpdates:
    """Calls tell of themselves only where somebody listens: the session's own record says so, whichever replica the call
    runs on. That record ends half an hour after the last call, or with the session: who listens on has to say so again."""

    def __init__(self, bus: SubscriptionBus, memory: SessionMemory) -> None:
        self._bus = bus
        self._memory = memory
        self._grown: dict[str, None] = {}
        self._some = asyncio.Event()

    async def listen(self, uri: str, session: str | None, user: str | None) -> str | None:
        """Somebody wants to hear of a resource. Returns as whom, where it is one of a session; None for all others."""
        if uri == HISTORY.uri and session is not None:
            with suppress(MemoryUnavailable):  # what is not recorded is not told of either
                await self._memory.listen(session, user)
        return self.owner(uri, session, user)

    def owner(self, uri: str, session: str | None, user: str | None) -> str | None:
        return owner(session, user) if uri == HISTORY.uri and session is not None else None

    def recorded(self, session: str, user: str | None) -> None:
        """A call has become part of this session's history."""
        if len(self._grown) < MOST_WAITING:
            self._grown[owner(session, user)] = None
            self._some.set()

    async def keep(self) -> NoReturn:
        """Tells until cancelled."""
        while True:
            await self._some.wait()
            self._some.clear()
            grown, self._grown = self._grown, {}
            for each in grown:
                await self._bus.publish(OwnUpdated(HISTORY.uri, each))
            await asyncio.sleep(WINDOW_SECONDS)


LARGEST_BYTES = 2048
LISTS: Mapping[str, ServerEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}


def write(event: ServerEvent, sender: str) -> bytes:
    """`sender` is the process's own name, by which it knows its messages again."""
    return json.dumps({"from": sender, **_told(event)}, ensure_ascii=False).encode("utf-8", "replace")


def _told(event: ServerEvent) -> dict[str, str]:
    if isinstance(event, OwnUpdated):
        return {"resource": event.uri, "owner": event.owner}
    return {"resource": event.uri} if isinstance(event, ResourceUpdated) else {"list": _name(event)}


def read(message: bytes, own: str) -> ServerEvent | None:
    """Returns None for what this process has said itself, and for anything that is not of this form, whoever wrote it."""
    if len(message) > LARGEST_BYTES:
        return None
    try:
        told = json.loads(message)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or told.get("from") == own:
        return None
    listed, uri = told.get("list"), told.get("resource")
    if isinstance(uri, str) and "owner" in told:
        return OwnUpdated(uri, told["owner"]) if isinstance(told["owner"], str) else None
    if isinstance(uri, str):
        return ResourceUpdated(uri)
    return LISTS.get(listed) if isinstance(listed, str) else None


def _name(event: ServerEvent) -> str:
    return next(name for name, each in LISTS.items() if each == event)


MOST = 1024
"""Resources that may wait; what is told of more of them is lost. There are three lists, and those always have room."""


class Pending:
    def __init__(self) -> None:
        self._events: dict[ServerEvent, None] = {}
        self._some = asyncio.Event()

    def put(self, event: ServerEvent) -> None:
        if len(self._events) < MOST or not isinstance(event, ResourceUpdated):
            self._events[event] = None
            self._some.set()

    async def take(self) -> list[ServerEvent]:
        """Waits for some, and takes them all."""
        await self._some.wait()
        self._some.clear()
        events, self._events = list(self._events), {}
        return events


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
                self._outage.record_failure(str(failure))
                for event in events:
                    self._unsaid.put(event)
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                self._outage.record_recovery()

    async def _published(self, events: list[ServerEvent]) -> None:
        messages = [Command(("PUBLISH", CHANGES, write(event, self._own))) for event in events]
        replies = await self._redis.trip(messages, Deadline.after(PUBLISH_SECONDS))
        if any(isinstance(reply, MemoryRefused) for reply in replies):
            raise MemoryRefused("Redis does not let this user publish")
