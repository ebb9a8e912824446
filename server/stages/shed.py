"""Refuses what would only queue: an answer that says "busy" at once is worth more than one that comes too late."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from server.call import Call, Handler, Outcome
from server.runtime.standing_queue import StandingQueue
from session.resilience.clocks import Clock
from tools.store.failures import ServerBusy

RETRY_AFTER_MS = 100


class Shed:
    """`under_way` counts the calls inside; `idle` is set while there is none.

    A principal that is alone may have every place. When all are taken, whoever has less than an equal share of them is let
    in beyond: the others' next calls are refused until they are back at theirs, which takes as long as a call does (max-min
    fairness). With n principals there are never more calls than 1 + 1/2 + … + 1/n times the places."""

    def __init__(self, most: int, clock: Clock = time.monotonic) -> None:
        self._most = most
        self._queue = StandingQueue(clock)
        self._held: Counter[str] = Counter()
        self.under_way = 0
        self.idle = asyncio.Event()
        self.idle.set()

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        holder = call.origin or call.address or ""
        if self._queue.stands_before(call.elapsed_ms()) or not self._has_room_for(holder):
            raise ServerBusy("The server has as many calls as it can answer in time.", retry_after_ms=RETRY_AFTER_MS)
        with self._counted(holder):
            return await inner(call)

    def _has_room_for(self, holder: str) -> bool:
        share = self._most // len({*self._held, holder})
        return self.under_way < self._most or self._held[holder] < share

    @contextmanager
    def _counted(self, holder: str) -> Iterator[None]:
        self.under_way += 1
        self._held[holder] += 1
        self.idle.clear()
        try:
            yield
        finally:
            self.under_way -= 1
            self._held[holder] -= 1
            if not self._held[holder]:
                del self._held[holder]
            if not self.under_way:
                self.idle.set()
