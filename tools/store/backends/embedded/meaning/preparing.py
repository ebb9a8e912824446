"""The vectors of a catalogue, made ready behind its start: a task that whoever starts it also ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress

from session.resilience.tasks import start_task
from tools.store.backends.embedded.meaning.vector_leg import VectorLeg
from tools.store.backends.embedded.meaning.vectors import VectorPlan
from tools.store.failures import Failure

Progress = Callable[[int, int, str], None]


class Preparing:
    """Without a `leg` there is nothing to prepare."""

    def __init__(self, leg: VectorLeg | None) -> None:
        self._leg = leg
        self._task: asyncio.Task[None] | None = None

    async def start(
        self, planned: Callable[[], VectorPlan], workers: Executor, progress: Progress | None, head_start: float
    ) -> None:
        """Looks for what is kept, and leaves the rest to the task."""
        if (leg := self._leg) is None:
            return
        loop = asyncio.get_running_loop()
        plan = await loop.run_in_executor(workers, planned)
        kept = await loop.run_in_executor(workers, leg.kept, plan)

        async def prepare() -> None:
            with suppress(Failure):
                await leg.prepare(plan, kept, progress, head_start)

        self._task = start_task(prepare(), "catalog vectors")

    async def wait(self) -> None:
        """Until the task is over."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        await self.wait()
        if self._leg is not None:
            await self._leg.aclose()
