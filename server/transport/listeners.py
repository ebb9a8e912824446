"""Everybody who hears of a changed tool list: 2025 connections, and the subscriptions of the 2026 era.

A client is told when, and only when, what it would be listed has become another list than the one that it was last told of.
What it is listed depends on whom it was proven to be, and on nothing else about its connection: on whoever said
`notifications/initialized` or `subscriptions/listen`, and on whoever has asked for a list on a connection since. That a
token ends later changes nothing here: a notification says nothing of what is in the list, which takes a new proof to get.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ServerEvent, SubscriptionBus, ToolsListChanged

from server.call import Principal
from server.transport.changes import as_heard_by
from session.resilience.tasks import start_task

MOST_PRINCIPALS = 8
"""For so many one client may list before the first of them is forgotten."""
SLICE = 16
"""Lists that are compared, or clients that are told, before calls have their turn: about a millisecond."""


@dataclass(slots=True, eq=False)
class Client:
    """`tell` neither waits nor fails. `lists` are the digests of what it knows, by principal."""

    tell: Callable[[], None]
    lists: dict[Principal, str] = field(default_factory=dict)


class Audiences:
    """Clients who are told. `digest` stands for the list of a principal as it is now."""

    def __init__(self, digest: Callable[[Principal], str]) -> None:
        self._digest = digest
        self._clients: dict[Client, None] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def join(self, principal: Principal, tell: Callable[[], None]) -> Client:
        """What is listed now is what the client knows, whether it has asked or not."""
        client = Client(tell)
        self.widen(client, principal)
        self._clients[client] = None
        return client

    def widen(self, client: Client, principal: Principal) -> None:
        """From now on the client hears of this principal's list as well."""
        if principal in client.lists:
            return
        if len(client.lists) >= MOST_PRINCIPALS:
            del client.lists[next(iter(client.lists))]
        client.lists[principal] = self._digest(principal)

    def leave(self, client: Client) -> None:
        self._clients.pop(client, None)

    async def compare(self) -> None:
        """Tells each client once of whom a list has changed. A principal's list is looked at once, however many have it;
        what changes meanwhile is for the next comparison."""
        now: dict[Principal, str] = {}
        work = 0
        for client in list(self._clients):
            work += self._digest_new(client, now)
            if client in self._clients and _changed(client, now):
                client.tell()
                work += 1
            if work >= SLICE:
                work = 0
                await asyncio.sleep(0)

    def _digest_new(self, client: Client, now: dict[Principal, str]) -> int:
        new = client.lists.keys() - now.keys()
        now.update((principal, self._digest(principal)) for principal in new)
        return len(new)


def _changed(client: Client, now: dict[Principal, str]) -> bool:
    """Tells whether there is another list, and takes note of it."""
    before = client.lists
    client.lists = {principal: now[principal] for principal in before}
    return client.lists != before


METHOD = "notifications/tools/list_changed"


class Notifier:
    """One notification at a time, and nobody waits for it. While it is on its way to a client that does not read, whatever
    else changes is one more behind it; so what waits for a client is never more than that. One for a client without a stream
    to hear it on waits until there is one."""

    def __init__(self, connection: Connection, *, hears: bool = True) -> None:
        self._connection = connection
        self._hears = hears
        self._again = False
        self._task: asyncio.Task[None] | None = None

    def tell(self) -> None:
        self._again = True
        self._begin()

    def listen(self, hears: bool) -> None:
        """Whether there is a stream from now on: without one the SDK would throw notifications away."""
        self._hears = hears
        self._begin()

    def _begin(self) -> None:
        if self._again and self._hears and (self._task is None or self._task.done()):
            self._task = start_task(self._send(), "tools-changed")

    def close(self) -> None:
        """To be done when the connection ends."""
        if self._task is not None:
            self._task.cancel()

    async def _send(self) -> None:
        while self._again and self._hears:
            self._again = False
            await self._connection.notify(METHOD, None)


class SessionStreams:
    """A connection that is no such session has its one stream for as long as it lasts."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._notifiers: dict[str, Notifier] = {}

    @property
    def open(self) -> int:
        """How many sessions have a stream now."""
        return len(self._open)

    def notifier(self, connection: Connection) -> Notifier:
        """Makes the one that tells this connection."""
        name = connection.session_id
        if name is None:
            return Notifier(connection)
        self._notifiers[name] = Notifier(connection, hears=name in self._open)
        return self._notifiers[name]

    def leave(self, connection: Connection) -> None:
        if connection.session_id is not None:
            self._notifiers.pop(connection.session_id, None)

    def opened(self, session: str) -> None:
        """Its client listens from now on, and is told of what it has missed."""
        self._open.add(session)
        self._tell(session, hears=True)

    def closed(self, session: str) -> None:
        self._open.discard(session)
        self._tell(session, hears=False)

    def _tell(self, session: str, *, hears: bool) -> None:
        if (notifier := self._notifiers.get(session)) is not None:
            notifier.listen(hears)


WINDOW_SECONDS = 0.05
"""What changes within it is looked at once, and what has changed back by then is nothing to tell of."""
CHANGED = ToolsListChanged()


class ToolListChanges:
    """To be told of changes by `may_have_changed`, in this process, or by an event on the bus, in all of them."""

    def __init__(self, digest: Callable[[Principal], str], bus: SubscriptionBus) -> None:
        """`digest` stands for what is listed for a principal at the moment."""
        self.bus = bus
        self._audiences = Audiences(digest)
        self._connections: dict[Connection, Client] = {}
        self.streams = SessionStreams()
        self._asked = asyncio.Event()
        bus.subscribe(self._heard)

    def __len__(self) -> int:
        return len(self._audiences)

    def join(self, session: ServerSession, principal: Principal) -> None:
        """A 2025 connection is ready to hear, until it ends."""
        # A session lives as long as one request; the connection behind it has no public name in the SDK.
        connection = session._connection
        if connection in self._connections:
            self.listed(session, principal)
            return
        notifier = self.streams.notifier(connection)
        client = self._connections[connection] = self._audiences.join(principal, notifier.tell)

        def leave() -> None:
            del self._connections[connection]
            self._audiences.leave(client)
            self.streams.leave(connection)
            notifier.close()

        connection.exit_stack.callback(leave)

    def listed(self, session: ServerSession, principal: Principal) -> None:
        """Somebody has got a list on this connection."""
        if (client := self._connections.get(session._connection)) is not None:
            self._audiences.widen(client, principal)

    def bus_of(self, principal: Principal, owner: str | None = None) -> SubscriptionBus:
        """For a subscription of this principal's: of the tools it hears what concerns them, of what is a session's own what
        is this `owner`'s, of all else everything."""
        return _BusOfOne(self.bus, self._audiences, principal, owner)

    def may_have_changed(self) -> None:
        """To be called after anything on which lists depend; whoever calls it need not know whether they do."""
        self._asked.set()

    async def changed(self, seen_first: bool) -> None:
        """The same; `seen_first` where nobody has told of it, so that the other processes are told."""
        if seen_first:
            await self.bus.publish(CHANGED)
        else:
            self.may_have_changed()

    def when_told(self, look: Callable[[], None]) -> None:
        """`look` is called whenever some process has seen a change, this one included."""
        self.bus.subscribe(lambda event: look() if event == CHANGED else None)

    async def keep(self) -> NoReturn:
        """Compares until cancelled."""
        self.may_have_changed()
        while True:
            await self._asked.wait()
            await asyncio.sleep(WINDOW_SECONDS)
            self._asked.clear()
            await self._audiences.compare()

    def _heard(self, event: ServerEvent) -> None:
        if event == CHANGED:
            self.may_have_changed()


class _BusOfOne:
    """The bus as one subscription sees it."""

    def __init__(self, bus: SubscriptionBus, audiences: Audiences, principal: Principal, owner: str | None) -> None:
        self._bus, self._audiences, self._principal, self._owners = bus, audiences, principal, {owner}

    async def publish(self, event: ServerEvent) -> None:
        await self._bus.publish(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        def pass_on(event: ServerEvent) -> None:
            told = as_heard_by(event, self._owners)
            if told is not None and told != CHANGED:
                listener(told)

        unsubscribe = self._bus.subscribe(pass_on)
        client = self._audiences.join(self._principal, lambda: listener(CHANGED))

        def leave() -> None:
            unsubscribe()
            self._audiences.leave(client)

        return leave
