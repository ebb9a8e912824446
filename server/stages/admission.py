"""Admission control: refuse early what would be answered late, and cancel what is late."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from server.call import Call, Handler, Outcome
from server.identity.caller_limits import CallerLimits, Stated
from session.resilience.clocks import Clock
from tools.store.failures import Failure, RateLimited, ServerBusy, TimedOut

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


class ShedStage:
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


HALF_WINDOW_SECONDS = 15.0
GROWTH = 1.1
SMALLEST = 0.0001


class LatencySketch:
    """Quantiles of the last 15 to 30 seconds, within 5 %, in constant memory.

    Logarithmic buckets as in DDSketch (Masson, Rim and Lee, VLDB 2019), in two half windows of which the older is
    dropped whole: what was slow half a minute ago is forgotten.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._current: Counter[int] = Counter()
        self._previous: Counter[int] = Counter()
        self._turned_at = clock()

    def add(self, seconds: float) -> None:
        self._turn()
        self._current[max(0, math.ceil(math.log(max(seconds, SMALLEST) / SMALLEST, GROWTH)))] += 1

    def count(self) -> int:
        self._turn()
        return self._current.total() + self._previous.total()

    def quantile(self, share: float) -> float:
        """Returns seconds; 0 when nothing has been added."""
        self._turn()
        both = self._current + self._previous
        rank = share * both.total()
        for bucket in sorted(both):
            rank -= both[bucket]
            if rank <= 0:
                return float(SMALLEST * GROWTH ** (bucket - 0.5))
        return 0.0

    def _turn(self) -> None:
        passed = self._clock() - self._turned_at
        if passed < HALF_WINDOW_SECONDS:
            return
        self._previous = self._current if passed < 2 * HALF_WINDOW_SECONDS else Counter()
        self._current = Counter()
        self._turned_at = self._clock()


PROBE_SECONDS = 1.0
LEAST_SAMPLES = 20


class AdmitStage:
    """One call a second passes for each tool whatever its p95. One that comes back well in time has found out that the
    tool has recovered: what was slow before counts no more."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._sketches: dict[str, LatencySketch] = {}
        self._probed_at: dict[str, float] = {}

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        assert call.deadline is not None
        sketch = self._sketches.setdefault(call.name, LatencySketch(self._clock))
        left = call.deadline.remaining()
        probing = self._too_slow(sketch, left)
        if probing and not self._may_probe(call.name):
            raise TimedOut("This would take longer than the time that is left.", retry_after_ms=1000)
        started = self._clock()
        try:
            outcome = await inner(call)
        except Failure:
            # A call that was cut off at its deadline took at least so long, which is what matters here. One whose callers
            # left has measured nothing.
            sketch.add(self._clock() - started)
            raise
        seconds = self._clock() - started
        if probing and seconds < left / 2:
            sketch = self._sketches[call.name] = LatencySketch(self._clock)
        sketch.add(seconds)
        return outcome

    def _too_slow(self, sketch: LatencySketch, left: float) -> bool:
        return sketch.count() >= LEAST_SAMPLES and sketch.quantile(0.95) > left

    def _may_probe(self, tool: str) -> bool:
        now = self._clock()
        if now - self._probed_at.get(tool, -PROBE_SECONDS) < PROBE_SECONDS:
            return False
        self._probed_at[tool] = now
        return True


class DeadlineStage:
    """Works for the call's own time, or for that of the flight it shares."""

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        deadline = call.flight or call.deadline
        assert deadline is not None
        try:
            async with asyncio.timeout(deadline.remaining()):
                return await inner(call)
        except TimeoutError:
            raise TimedOut("This took too long and was stopped.", retry_after_ms=100) from None
