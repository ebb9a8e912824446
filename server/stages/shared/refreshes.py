"""Stale results renewed behind the answers that were given with them (stale-while-revalidate, RFC 5861)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from server.call import Call, Handler
from server.stages.shared.flights import detached
from server.stages.shared.result_writes import ResultWrites
from session.memory import SessionMemory
from session.resilience.tasks import start_task
from tools.client import SILENT
from tools.store.failures import Failure, NotFound

MOST_REFRESHES = 8
"""Background work yields to live calls: beyond this many, stale results are served without being refreshed."""


class Refreshes(dict[str, asyncio.Task[None]]):
    """By what is renewed, each until it is done. They run with the identity that was asked with, and write the cache and
    nothing of the session."""

    def __init__(self, memory: SessionMemory, writes: ResultWrites) -> None:
        super().__init__()
        self._memory = memory
        self._writes = writes

    def start(self, key: str, call: Call, inner: Handler) -> None:
        if key in self or len(self) >= MOST_REFRESHES:
            return
        unheard = replace(detached(call), client=SILENT, interval=None)
        task = self[key] = start_task(self._refresh(unheard, inner), f"refresh {call.name}")
        task.add_done_callback(lambda _: self.pop(key, None))

    async def _refresh(self, call: Call, inner: Handler) -> None:
        try:
            outcome = await inner(call)
        except NotFound:
            await self._memory.end(self._writes.end_of(call))
            return
        except Failure:
            return  # which leaves the stale result as it is
        if not call.degraded and (step := self._writes.of(call, outcome)):
            await self._memory.end([step])
