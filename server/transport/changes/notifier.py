"""Tells one connection of the 2025 era that its tools have changed."""

from __future__ import annotations

import asyncio

from mcp.server.connection import Connection

from session.resilience.tasks import start_task

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
