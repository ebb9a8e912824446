"""Events that wait for their turn, each of them once: they say that something has changed, and never what."""

from __future__ import annotations

import asyncio

from mcp.server.subscriptions import ResourceUpdated, ServerEvent

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
