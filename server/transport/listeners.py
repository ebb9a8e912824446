"""Notifies clients of changes: on connections of protocol versions up to 2025, and in subscriptions from 2026 on.

A client is notified if its tool list differs from the last list that it knows. Lists are compared for each principal that
the client has authenticated as, even after the token has expired, since a notification contains no list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import NoReturn

from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ResourceUpdated, ServerEvent, SubscriptionBus, ToolsListChanged
from mcp.shared.subscriptions import event_to_notification

from server.call import Principal
from server.transport.changes import LISTS, LONGEST_URI, MOST_URIS, Pending, event_for
from session.resilience.tasks import start_task
from tools.primitive_registry import Kind


def connection_of(session: ServerSession) -> Connection:
    """Returns the connection of an SDK session, for which the SDK has no public accessor."""
    return session._connection


class Notifier:
    """Sends notifications to one connection in the background, one at a time. They wait while the client does not read, and
    while it has no stream, since the SDK would then drop them. Equal waiting notifications are merged."""

    def __init__(self, connection: Connection, *, has_stream: bool = True) -> None:
        self._connection = connection
        self._has_stream = has_stream
        self._waiting: dict[ServerEvent, None] = {}
        self._task: asyncio.Task[None] | None = None

    def notify(self, event: ServerEvent) -> None:
        self._waiting[event] = None
        self._begin()

    def set_stream(self, *, has_stream: bool) -> None:
        self._has_stream = has_stream
        self._begin()

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        if self._waiting and self._has_stream and (self._task is None or self._task.done()):
            self._task = start_task(self._send(), "notify")

    async def _send(self) -> None:
        while self._waiting and self._has_stream:
            event = next(iter(self._waiting))
            del self._waiting[event]
            params = {"uri": event.uri} if isinstance(event, ResourceUpdated) else None
            await self._connection.notify(event_to_notification(event, {}).method, params)


class SessionStreams:
    """The notifiers of all connections. A Streamable HTTP session has a stream while its client keeps a GET open; other
    connections always have one. `len()` is the number of sessions with a stream."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._notifiers: dict[str | Connection, Notifier] = {}

    def __len__(self) -> int:
        return len(self._open)

    def notifier(self, connection: Connection) -> Notifier:
        """Returns the connection's notifier, which is closed with the connection."""
        key = connection.session_id or connection
        if key not in self._notifiers:
            notifier = Notifier(connection, has_stream=key in self._open if isinstance(key, str) else True)
            self._notifiers[key] = notifier
            connection.exit_stack.callback(notifier.close)
            connection.exit_stack.callback(self._notifiers.pop, key)
        return self._notifiers[key]

    def set_stream(self, session: str, *, has_stream: bool) -> None:
        if has_stream:
            self._open.add(session)
        else:
            self._open.discard(session)
        if (notifier := self._notifiers.get(session)) is not None:
            notifier.set_stream(has_stream=has_stream)


MOST_PRINCIPALS = 8
"""Maximum principals whose lists are watched for one client; beyond it the first is forgotten."""
SLICE = 16
"""Number of lists compared and clients notified before yielding to the event loop: about a millisecond of work."""
WINDOW_SECONDS = 0.05
"""Seconds for which changes are collected before one comparison; a change undone by then is not announced."""
CHANGED = ToolsListChanged()


@dataclass(slots=True, eq=False)
class Client:
    """A client to notify. `notify` neither blocks nor raises. `lists` has the digests that it knows, by principal."""

    notify: Callable[[], None]
    lists: dict[Principal, str] = field(default_factory=dict)


class ToolListChanges:
    """Notifies clients of changed tool lists. `digest` returns the digest of a principal's current list. `bus` carries
    change events between processes."""

    def __init__(self, digest: Callable[[Principal], str], bus: SubscriptionBus) -> None:
        self.bus = bus
        self.streams = SessionStreams()
        self._digest = digest
        self._clients: dict[Connection | Client, Client] = {}
        """The clients by connection. A subscription's client has itself as its key."""
        self._scheduled = asyncio.Event()
        self.on_change(self.schedule_comparison)

    def join(self, session: ServerSession, principal: Principal) -> None:
        """Notifies a connection (versions up to 2025) of changes until it closes. Its client knows the current list."""
        connection = connection_of(session)
        if connection not in self._clients:
            notifier = self.streams.notifier(connection)
            self._clients[connection] = Client(lambda: notifier.notify(CHANGED))
            connection.exit_stack.callback(self._clients.pop, connection)
        self.note_listed(session, principal)

    def note_listed(self, session: ServerSession, principal: Principal) -> None:
        """Records that the session's client was sent the principal's list."""
        if (client := self._clients.get(connection_of(session))) is not None:
            self._watch_principal(client, principal)

    def subscribe(self, principal: Principal, tell: Callable[[], None], subscription: ExitStack) -> None:
        """Calls `tell` after each change of the principal's list, until `subscription` closes."""
        client = Client(tell)
        self._watch_principal(client, principal)
        self._clients[client] = client
        subscription.callback(self._clients.pop, client)

    def schedule_comparison(self) -> None:
        """Schedules a comparison of all clients' tool lists. Must be called after any change on which the lists depend."""
        self._scheduled.set()

    async def publish_change(self, to_others: bool) -> None:
        """Schedules a comparison of tool lists in all processes if `to_others`, else only in this process."""
        if to_others:
            await self.bus.publish(CHANGED)
        else:
            self.schedule_comparison()

    def on_change(self, look: Callable[[], None]) -> None:
        """Calls `look` whenever any process, including this one, publishes a tool list change."""
        self.bus.subscribe(lambda event: look() if event == CHANGED else None)

    async def run(self) -> NoReturn:
        self.schedule_comparison()
        while True:
            await self._scheduled.wait()
            await asyncio.sleep(WINDOW_SECONDS)
            self._scheduled.clear()
            await self._compare()

    def _watch_principal(self, client: Client, principal: Principal) -> None:
        if principal in client.lists:
            return
        if len(client.lists) >= MOST_PRINCIPALS:
            del client.lists[next(iter(client.lists))]
        client.lists[principal] = self._digest(principal)

    async def _compare(self) -> None:
        present: dict[Principal, str] = {}
        work = 0
        for key, client in list(self._clients.items()):
            unread = client.lists.keys() - present.keys()
            present.update((principal, self._digest(principal)) for principal in unread)
            work += len(unread)
            before = client.lists
            client.lists = {principal: present[principal] for principal in before}
            if key in self._clients and client.lists != before:
                client.notify()
                work += 1
            if work >= SLICE:
                work = 0
                await asyncio.sleep(0)


class SubscriberBus:
    """The bus for one subscription. It carries changes of the principal's tool list, updates of the resources of `owner`,
    and all events that are for everyone."""

    def __init__(self, changes: ToolListChanges, principal: Principal, owner: str | None = None) -> None:
        self._changes, self._principal, self._owners = changes, principal, {owner}

    async def publish(self, event: ServerEvent) -> None:
        await self._changes.bus.publish(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        def pass_on(event: ServerEvent) -> None:
            seen = event_for(event, self._owners)
            if seen is not None and seen != CHANGED:
                listener(seen)

        subscription = ExitStack()
        subscription.callback(self._changes.bus.subscribe(pass_on))
        self._changes.subscribe(self._principal, lambda: listener(CHANGED), subscription)
        return subscription.close


class Watchers:
    """Notifies connections of updates of watched resources, and of changed lists of resources and prompts. For protocol
    versions up to 2025; later ones have subscriptions."""

    def __init__(self, bus: SubscriptionBus, streams: SessionStreams) -> None:
        self._bus = bus
        self._streams = streams
        self._watched: dict[Connection, set[tuple[str, str | None]]] = {}
        """By connection, the watched URIs, each with an owner or None (see `watch`)."""
        self._changed: Pending[Kind] = Pending()
        bus.subscribe(self._notify)

    def join(self, session: ServerSession) -> set[tuple[str, str | None]]:
        """Registers the connection, if new, until it closes. Returns the live set of its watched (URI, owner) pairs."""
        connection = connection_of(session)
        if connection not in self._watched:
            self._watched[connection] = set()
            self._streams.notifier(connection)
            connection.exit_stack.callback(self._watched.pop, connection)
        return self._watched[connection]

    def watch(self, session: ServerSession, uri: str, owner: str | None = None) -> bool:
        """Watches a resource; `owner` is the hash for a session's own one, else None. Returns False beyond limits."""
        watched = self.join(session)
        if len(uri) > LONGEST_URI or len(watched | {(uri, owner)}) > MOST_URIS:
            return False
        watched.add((uri, owner))
        return True

    def forget(self, session: ServerSession, uri: str, owner: str | None = None) -> None:
        self.join(session).discard((uri, owner))

    def note_changed(self, kind: Kind) -> None:
        self._changed.put(kind)

    async def run(self) -> NoReturn:
        while True:
            for kind in sorted(await self._changed.take()):
                await self._bus.publish(LISTS[kind])

    def _notify(self, event: ServerEvent) -> None:
        if event == CHANGED:
            return
        for connection, watched in list(self._watched.items()):
            seen: ServerEvent | None = event
            if isinstance(event, ResourceUpdated):
                owners = {owner for uri, owner in watched if uri == event.uri}
                seen = event_for(event, owners) if owners else None
            if seen is not None:
                self._streams.notifier(connection).notify(seen)
