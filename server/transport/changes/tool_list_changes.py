"""Everybody who hears of a changed tool list: 2025 connections, and the subscriptions of the 2026 era.

A client is told when, and only when, what it would be listed has become another list than the one that it was last told of.
What it is listed depends on whom it was proven to be, and on nothing else about its connection: on whoever said
`notifications/initialized` or `subscriptions/listen`, and on whoever has asked for a list on a connection since. That a
token ends later changes nothing here: a notification says nothing of what is in the list, which takes a new proof to get.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NoReturn

from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ServerEvent, SubscriptionBus, ToolsListChanged

from server.call import Principal
from server.transport.changes.audiences import Audiences, Client
from server.transport.changes.events import as_heard_by
from server.transport.changes.session_streams import SessionStreams

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
