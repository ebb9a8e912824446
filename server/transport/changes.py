"""Delivers change events: in this process at once, in the other replicas through Redis pub/sub."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Container, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, NoReturn, TypeVar

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
class SessionResourceUpdated(ResourceUpdated):
    """The event that a resource changed for one session and user only, whose hash is `owner` (`session.keys.owner`)."""

    owner: str


def event_for(event: ServerEvent, owners: AbstractSet[str | None]) -> ServerEvent | None:
    """Returns the event to send to a client that listens for these `owners`; None if the event is for another owner."""
    if isinstance(event, SessionResourceUpdated):
        return ResourceUpdated(event.uri) if event.owner in owners else None
    return event


MOST_WAITING = 1024
"""Maximum waiting events; further resource updates are dropped. The events of the three lists always fit."""
WINDOW_SECONDS = 1.0
"""Minimum seconds between two notifications of the listeners of a growing session."""
T = TypeVar("T")


class Pending(Generic[T]):
    """A queue without duplicates. `take` waits for at least one value, then returns and removes all values. `put` drops new
    values beyond `MOST_WAITING`, except changes of a list."""

    def __init__(self) -> None:
        self._waiting: dict[T, None] = {}
        self._any = asyncio.Event()

    def put(self, value: T) -> None:
        if len(self._waiting) < MOST_WAITING or value in LISTS.values():
            self._waiting[value] = None
            self._any.set()

    async def take(self) -> list[T]:
        await self._any.wait()
        self._any.clear()
        values, self._waiting = list(self._waiting), {}
        return values


@dataclass(eq=False)
class SessionUpdates:
    """Notifies clients of changes to the history of their session. A field in the session's Redis record tells every replica
    that the session has listeners. The field expires with the record, after which clients have to subscribe again."""

    bus: SubscriptionBus
    memory: SessionMemory
    _grown: Pending[str] = field(default_factory=Pending)

    async def listen(self, uris: Container[str], session: str | None, user: str | None) -> str | None:
        """Marks the session as having listeners, if its history is among `uris`, and returns `owner(uris, session, user)`.
        If Redis fails, returns the same without marking the session."""
        if HISTORY.uri in uris and session is not None:
            with suppress(MemoryUnavailable):  # without Redis there are no updates either
                await self.memory.mark_listened_to(session, user)
        return self.owner(uris, session, user)

    def owner(self, uris: Container[str], session: str | None, user: str | None) -> str | None:
        """Returns the hash that owns the session's history; None without a session, or if `uris` lack it."""
        return owner(session, user) if HISTORY.uri in uris and session is not None else None

    def note_call(self, session: str, user: str | None) -> None:
        self._grown.put(owner(session, user))

    async def run(self) -> NoReturn:
        while True:
            for each in await self._grown.take():
                await self.bus.publish(SessionResourceUpdated(HISTORY.uri, each))
            await asyncio.sleep(WINDOW_SECONDS)


MOST_URIS = 64
LONGEST_URI = 256
"""Maximum URIs that a connection or subscription watches, and maximum characters of each: 16 KB together."""
LARGEST_BYTES = 2048
LISTS: Mapping[str, ServerEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}


def encode_event(event: ServerEvent, sender: str) -> bytes:
    """Returns the event as JSON. `sender` is this process's name, by which it recognises its own messages."""
    fields = {"from": sender}
    if isinstance(event, ResourceUpdated):
        fields |= {"resource": event.uri} | ({"owner": event.owner} if isinstance(event, SessionResourceUpdated) else {})
    else:
        fields["list"] = next(name for name, each in LISTS.items() if each == event)
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace")


def decode_event(message: bytes, own: str) -> ServerEvent | None:
    """Decodes an event. Returns None if it is malformed, too long, or sent by the process `own`."""
    if len(message) > LARGEST_BYTES:
        return None
    try:
        fields = json.loads(message)
    except (ValueError, RecursionError):
        return None
    match fields:
        case {"from": sender} if sender == own:
            return None
        case {"resource": str(uri), "owner": event_owner}:
            return SessionResourceUpdated(uri, event_owner) if isinstance(event_owner, str) else None
        case {"resource": str(uri)}:
            return ResourceUpdated(uri)
        case {"list": str(name)}:
            return LISTS.get(name)
    return None


logger = logging.getLogger(__name__)
PUBLISH_SECONDS = 0.5
AGAIN_SECONDS = 0.2


class SharedBus:
    """An SDK `SubscriptionBus` over Redis pub/sub. `publish` does not wait for Redis; events that Redis does not accept are
    sent again. Each new subscription to Redis announces a changed tool list in this process, since events may be missing."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._subscriber = Subscriber(redis, CHANGES)
        self._local = InMemorySubscriptionBus()
        self.subscribe = self._local.subscribe
        self._own = uuid.uuid4().hex
        self._received: Pending[ServerEvent] = Pending()
        self._unsent: Pending[ServerEvent] = Pending()
        self._outage = Outage(logger, "the publishing of changes in Redis", after=FAILURES)

    async def publish(self, event: ServerEvent) -> None:
        self._unsent.put(event)
        await self._local.publish(event)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            listening = self._subscriber.listen(self._receive, lambda: self._received.put(ToolsListChanged()))
            group.create_task(listening, name="changes-hear")
            group.create_task(self._deliver(), name="changes-deliver")
            group.create_task(self._send(), name="changes-say")

    def _receive(self, message: bytes) -> None:
        if (event := decode_event(message, self._own)) is not None:
            self._received.put(event)

    async def _deliver(self) -> NoReturn:
        while True:
            for event in await self._received.take():
                await self._local.publish(event)

    async def _send(self) -> NoReturn:
        while True:
            events = await self._unsent.take()
            try:
                messages = [Command(("PUBLISH", CHANGES, encode_event(event, self._own))) for event in events]
                replies = await self._redis.trip(messages, Deadline.after(PUBLISH_SECONDS))
                if any(isinstance(reply, MemoryRefused) for reply in replies):
                    raise MemoryRefused("Redis does not let this user publish")
            except (MemoryUnavailable, MemoryRefused) as failure:
                self._outage.record_failure(str(failure))
                for event in events:
                    self._unsent.put(event)
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                self._outage.record_recovery()
