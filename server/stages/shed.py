"""Refuses what would only queue: an answer that says "busy" at once is worth more than one that comes too late."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from server.call import Call, Handler, Outcome
from session.resilience.clocks import Clock
from tools.store.failures import ServerBusy

RETRY_AFTER_MS = 100
LONGEST_WAIT_MS = 100.0
STANDING_SECONDS, CALM_SECONDS = 0.5, 2.0


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
        if self._queue.stands_before(call.elapsed_ms()) or not self._has_place_for(holder):
            raise ServerBusy("The server has as many calls as it can answer in time.", retry_after_ms=RETRY_AFTER_MS)
        with self._counted(holder):
            return await inner(call)

    def _has_place_for(self, holder: str) -> bool:
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


class StandingQueue:
    """When the processor is what lacks, calls wait before they get here, and few are ever under way. One that has waited is
    let in when that was a burst or a hiccup, and refused when all have waited for a while: the queue then stands, and
    whoever is at its end would wait longer still (Nichols and Jacobson, "Controlling queue delay", ACM Queue 2012)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._late_since: float | None = None
        self._late_at = 0.0
        self._strict_until = 0.0

    def stands_before(self, waited_ms: float) -> bool:
        """Whether to refuse a call that waited so long."""
        now = self._clock()
        if waited_ms <= LONGEST_WAIT_MS:
            self._late_since = None
            return False
        if self._late_since is None or now - self._late_at > STANDING_SECONDS:
            self._late_since = now
        self._late_at = now
        stands = now < self._strict_until or now - self._late_since > STANDING_SECONDS
        if stands:
            self._strict_until = now + CALM_SECONDS
        return stands
