"""Everybody who hears of a changed tool list: 2025 connections each, 2026 ones through their subscriptions."""

from __future__ import annotations

import asyncio
import weakref

from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.server.subscriptions import SubscriptionBus, ToolsListChanged

SEND_SECONDS = 1.0


class ToolListChanges:
    """Connections are held weakly: one that is gone is simply no longer told."""

    def __init__(self, bus: SubscriptionBus) -> None:
        self.bus = bus
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()

    def join(self, session: ServerSession) -> None:
        # A session lives as long as one request; the connection behind it has no public name in the SDK.
        self._connections.add(session._connection)

    async def tell_tools_changed(self) -> None:
        """Does its best, with all at once: a client that does not read keeps nobody waiting."""
        await self.bus.publish(ToolsListChanged())
        await asyncio.gather(*(self._tell(connection) for connection in list(self._connections)))

    async def _tell(self, connection: Connection) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await connection.notify("notifications/tools/list_changed", None)
        except TimeoutError:
            pass  # it will see the change when it lists again
