"""Refuses what would only queue: an answer that says "busy" at once is worth more than one that comes too late."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from server.call import Call, Handler, Outcome
from server.identity.caller_limits import CallerLimits, Stated
from session.resilience.clocks import Clock
from tools.store.failures import RateLimited, ServerBusy

LONGEST_WAIT_MS = 100.0
STANDING_SECONDS, CALM_SECONDS = 0.5, 2.0


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
        """Tells whether to refuse a call that waited so long."""
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


RETRY_AFTER_MS = 100
LOOK_UPS = 5
"""One place for as many is added for look-ups alone: they cost a hundredth of a search, and wait behind none."""


class Places:
    """`most` calls at once, shared out among principals, and among the customers that each of these speaks for.

    Who is alone may have every place. When all are taken, whoever has less than an equal share of them is let in beyond: the
    others' next calls are refused until they are back at theirs, which takes as long as a call does (max-min fairness).
    With n principals there are never more calls than 1 + 1/2 + … + 1/n times the places, and twice that where they speak
    for many customers."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[Stated] = Counter()
        self._of_origin: Counter[str] = Counter()
        self.taken = 0

    def has_room_for(self, holder: Stated) -> bool:
        if self.taken < self._most:
            return True
        share, held = self._most // len({*self._of_origin, holder.origin}), self._of_origin[holder.origin]
        if held < share:
            return True
        theirs = {*(each for each in self._held if each.origin == holder.origin), holder}
        return held < 2 * share and self._held[holder] < share // len(theirs)

    @contextmanager
    def held_by(self, holder: Stated) -> Iterator[None]:
        self._count(holder, 1)
        try:
            yield
        finally:
            self._count(holder, -1)

    def _count(self, holder: Stated, number: int) -> None:
        self.taken += number
        self._held[holder] += number
        self._of_origin[holder.origin] += number
        if not self._held[holder]:
            del self._held[holder]
        if not self._of_origin[holder.origin]:
            del self._of_origin[holder.origin]


class Shed:
    """`under_way` counts the calls inside; `idle` is set while there is none. A customer whose calls are refused without end
    is soon not looked at any more: each refusal counts against its limit, and costs as much as a call that is cached."""

    def __init__(self, most: int, limits: CallerLimits, clock: Clock = time.monotonic) -> None:
        self._limits = limits
        self._queue = StandingQueue(clock)
        self._places, self._look_ups = Places(most), Places(max(1, most // LOOK_UPS))
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def under_way(self) -> int:
        return self._places.taken + self._look_ups.taken

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        stated = Stated.of(call)
        self._limits.hear(stated)
        places = self._open_to(stated, call)
        if places is None:
            self._limits.note_refusal(stated)
            raise ServerBusy("The server has as many calls as it can answer in time.", retry_after_ms=RETRY_AFTER_MS)
        try:
            with places.held_by(stated):
                self.idle.clear()
                return await inner(call)
        except RateLimited:
            self._limits.note_refusal(stated)
            raise
        finally:
            if not self.under_way:
                self.idle.set()

    def _open_to(self, stated: Stated, call: Call) -> Places | None:
        """Returns where there is room for it."""
        if self._queue.stands_before(call.elapsed_ms()):
            return None
        if self._places.has_room_for(stated):
            return self._places
        return self._look_ups if call.tool.tool.looks_up and self._look_ups.has_room_for(stated) else None
