"""Who is told when a resource, or the list of resources or of prompts, has changed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import NoReturn

from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    SubscriptionBus,
)

from server.transport.changes import as_heard_by
from server.transport.http.slots import LONGEST_URI, MOST_URIS
from session.resilience.tasks import start_task
from tools.primitive_registry import Kind

LISTS: dict[Kind, ServerEvent] = {"resources": ResourcesListChanged(), "prompts": PromptsListChanged()}
UPDATED = "notifications/resources/updated"
METHODS: dict[type[ServerEvent], str] = {
    ResourcesListChanged: "notifications/resources/list_changed",
    PromptsListChanged: "notifications/prompts/list_changed",
    ResourceUpdated: UPDATED,
}

EVERYBODY: frozenset[str | None] = frozenset()


@dataclass(slots=True, eq=False)
class _Watcher:
    """A connection, what it `watches` and as whom, and what is to be told to it: each thing once, one after the other, and
    nobody waits for a client that does not read."""

    connection: Connection
    watches: dict[str, set[str | None]] = field(default_factory=dict)
    untold: dict[ServerEvent, None] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None

    def tell(self, event: ServerEvent) -> None:
        self.untold[event] = None
        if self.task is None or self.task.done():
            self.task = start_task(self._send(), "resources-changed")

    def close(self) -> None:
        if self.task is not None:
            self.task.cancel()

    async def _send(self) -> None:
        while self.untold:
            event = next(iter(self.untold))
            del self.untold[event]
            params = {"uri": event.uri} if isinstance(event, ResourceUpdated) else None
            await self.connection.notify(METHODS[type(event)], params)


class Watchers:
    """2025 connections; clients of the 2026 era hear of the same events on the bus through their subscriptions."""

    def __init__(self, bus: SubscriptionBus) -> None:
        self._bus = bus
        self._watchers: dict[Connection, _Watcher] = {}
        self._changed: set[Kind] = set()
        self._some = asyncio.Event()
        bus.subscribe(self._heard)

    def __len__(self) -> int:
        return len(self._watchers)

    def join(self, session: ServerSession) -> _Watcher:
        """From now on, and until it ends, the connection is told of changed lists."""
        # A session lives as long as one request; the connection behind it has no public name in the SDK.
        connection = session._connection
        if connection not in self._watchers:
            watcher = self._watchers[connection] = _Watcher(connection)
            connection.exit_stack.callback(self._watchers.pop, connection)
            connection.exit_stack.callback(watcher.close)
        return self._watchers[connection]

    def watch(self, session: ServerSession, uri: str, owner: str | None = None) -> bool:
        """And of this resource, as it is for `owner` where it is a session's own. Returns False where it watches as many as
        it may."""
        watches = self.join(session).watches
        watched = sum(map(len, watches.values())) + (owner not in watches.get(uri, ()))
        if len(uri) > LONGEST_URI or watched > MOST_URIS:
            return False
        watches.setdefault(uri, set()).add(owner)
        return True

    def forget(self, session: ServerSession, uri: str, owner: str | None = None) -> None:
        watches = self.join(session).watches
        owners = watches.get(uri, set())
        owners.discard(owner)
        if not owners:
            watches.pop(uri, None)

    async def updated(self, uri: str) -> None:
        """Tells everybody who watches it, on every replica, that a resource reads differently now. For what everybody may
        read: who watches an address need not be who may read what is there."""
        await self._bus.publish(ResourceUpdated(uri))

    def list_changed(self, what: Kind) -> None:
        """Takes note of a change, which `keep` tells."""
        self._changed.add(what)
        self._some.set()

    async def keep(self) -> NoReturn:
        """Tells of changed lists until cancelled, of a burst of changes once."""
        while True:
            await self._some.wait()
            self._some.clear()
            changed, self._changed = self._changed, set()
            for what in sorted(changed):
                await self._bus.publish(LISTS[what])

    def _heard(self, event: ServerEvent) -> None:
        for watcher in list(self._watchers.values()):
            owners = watcher.watches.get(event.uri) if isinstance(event, ResourceUpdated) else EVERYBODY
            told = None if owners is None else as_heard_by(event, owners)
            if told is not None and type(told) in METHODS:
                watcher.tell(told)
