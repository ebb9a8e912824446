"""How long something takes these days."""

from __future__ import annotations

import math
import time
from collections import Counter

from session.resilience.clocks import Clock

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
