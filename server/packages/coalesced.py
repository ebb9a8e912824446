"""Work that many may ask for at once, and that is done once for all who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Coalesced(Generic[T]):
    """Runs one at a time. Whoever asks while one is under way shares the next, which begins after they have asked. `tasks`
    owns the runs: who goes away takes nothing from the others."""

    def __init__(self, work: Callable[[], Awaitable[T]], tasks: asyncio.TaskGroup) -> None:
        self._work = work
        self._tasks = tasks
        self._one_at_a_time = asyncio.Lock()
        self._next: asyncio.Task[T] | None = None

    async def __call__(self) -> T:
        """Raises what the work raises."""
        if self._next is None:
            self._next = self._tasks.create_task(self._run())
        return await asyncio.shield(self._next)

    async def _run(self) -> T:
        async with self._one_at_a_time:
            self._next = None
            return await self._work()
