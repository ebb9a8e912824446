"""Is there time enough to begin? When a tool is slower these days than what is left, the ladder answers at once."""

from __future__ import annotations

import math
import time
from collections import Counter

from server.call import Call, Handler, Outcome
from session.resilience.clocks import Clock
from tools.store.failures import Failure, TimedOut

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


class Admit:
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
