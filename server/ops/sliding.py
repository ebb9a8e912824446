"""Counts of the last five minutes, and percentiles from them, in bounded memory."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, TypeVar

SLOTS, SLOT_SECONDS = 60, 5.0
SMALLEST_MS = 0.1
GROWTH = 1.1
MOST_BUCKETS = 160
"""Up to seven minutes; what is longer counts as that."""
_SCALE = 1 / math.log(GROWTH)

K = TypeVar("K", bound=Hashable)


class Sliding(Generic[K]):
    """How often each key was counted in the last `SLOTS` slots. There are few keys: tools' buckets, sources, failures. A sum
    over all slots is kept beside them, so that nobody ever adds them up."""

    def __init__(self) -> None:
        self._slots: deque[dict[K, int]] = deque([{}], SLOTS)
        self._current = self._slots[-1]
        self.whole: dict[K, int] = {}

    def add(self, key: K) -> None:
        self._current[key] = self._current.get(key, 0) + 1
        self.whole[key] = self.whole.get(key, 0) + 1

    def turn(self) -> Mapping[K, int]:
        """Begins the next slot, and returns what was counted in the one that is over."""
        over = self._current
        if len(self._slots) == SLOTS:
            for key, count in self._slots[0].items():
                self.whole[key] -= count
                if not self.whole[key]:
                    del self.whole[key]
        self._current = {}
        self._slots.append(self._current)
        return over


def bucket(ms: float) -> int:
    """Logarithmic ones, a tenth wide, as in DDSketch (Masson, Rim and Lee, VLDB 2019): a percentile is within 5 %."""
    return 0 if ms <= SMALLEST_MS else min(MOST_BUCKETS, 1 + int(math.log(ms / SMALLEST_MS) * _SCALE))


def percentiles(counts: Mapping[int, int], shares: Sequence[float]) -> list[float | None]:
    """Returns ms for each share, which are ascending; None where nothing was counted."""
    total, below, found = sum(counts.values()), 0, list[float | None]()
    buckets = iter(sorted(counts))
    at = None
    for share in shares:
        while total and below < share * total:
            at = next(buckets)
            below += counts[at]
        found.append(None if not total else _middle(at if at is not None else min(counts)))
    return found


def _middle(number: int) -> float:
    return 0.0 if number == 0 else round(SMALLEST_MS * GROWTH ** (number - 0.5), 1)
