"""What concerns one user's session alone, and is told to those who listen there as that user."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import NoReturn

from mcp.server.subscriptions import SubscriptionBus

from server.transport.changes.events import OwnUpdated
from session.failures import MemoryUnavailable
from session.keys import owner
from session.memory import SessionMemory
from tools.resources.history import HISTORY

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
