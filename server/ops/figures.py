"""Calls of the last five minutes by tool, and the failures among them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from server.ops.table import for_failure
from server.telemetry.events import BETWEEN, CallFinished
from session.resilience.clocks import Clock, WallClock
from session.resilience.lru import Lru

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


NO_ERRORS = ("ok", "cancelled", "INPUT_REQUIRED")
EXHAUSTED, BUSY = "BUDGET_EXHAUSTED", "SERVER_BUSY"
SOURCES = ("live", "cache", "stale", "fallback")
MOST_TOOLS = 64
OTHERS = "others"
"""Tools come and go with their packages, for as long as a process lives."""
MOST_ERRORS = 20
RATE_SECONDS = 5
MOST_UNCOUNTED = 256
Json = dict[str, Any]


@dataclass(slots=True)
class _Tool:
    ms: Sliding[int] = field(default_factory=Sliding)
    sources: Sliding[str] = field(default_factory=Sliding)
    errors: Sliding[str] = field(default_factory=Sliding)
    shown: Sliding[bool] = field(default_factory=Sliding)
    """Of those that its flag decided about, whether it was on."""

    def turn(self) -> None:
        for each in (self.ms, self.sources, self.errors, self.shown):
            each.turn()

    def as_dict(self, name: str) -> Json:
        p50, p95, p99 = percentiles(self.ms.whole, (0.5, 0.95, 0.99))
        sources = {each: self.sources.whole.get(each, 0) for each in SOURCES}
        calls = sum(self.ms.whole.values())
        told = {"name": name, "calls": calls, "p50_ms": p50, "p95_ms": p95, "p99_ms": p99}
        return {**told, "sources": sources, "errors": dict(self.errors.whole)}


@dataclass(slots=True)
class _Error:
    at: float
    count: int = 0


class Figures:
    """A sink. `total` and `shed` begin with what metrics have counted before anybody looked."""

    def __init__(self, clock: Clock, wall: WallClock, total: int = 0, shed: int = 0) -> None:
        self._clock, self._wall = clock, wall
        self.total, self.shed = total, shed
        self._tools: dict[str, _Tool] = {}
        self._ms, self._left = Sliding[int](), Sliding[int]()
        self._failed, self._over = Sliding[str](), Sliding[bool]()
        self._uncounted: list[CallFinished] = []
        self._errors: Lru[tuple[str, str], _Error] = Lru(MOST_ERRORS)
        self._history: deque[Json] = deque(maxlen=SLOTS)
        self._turned_at = clock()
        self._totals: deque[tuple[float, int]] = deque([(clock(), total)], RATE_SECONDS + 1)

    def __call__(self, event: CallFinished) -> None:
        """Keeps it until there are some, which are counted together: that costs half as much."""
        self._uncounted.append(event)
        if len(self._uncounted) >= MOST_UNCOUNTED:
            self._count_all()

    def _count_all(self) -> None:
        uncounted, self._uncounted = self._uncounted, []
        for event in uncounted:
            self._count(event)

    def _count(self, event: CallFinished) -> None:
        tool, at = self._tool(event.tool), bucket(event.milliseconds)
        self.total += 1
        tool.ms.add(at)
        self._ms.add(at)
        if event.source is not None:
            tool.sources.add(event.source)
        if event.budget_left_ms is not None:
            self._left.add(bucket(event.budget_left_ms))
        if event.turn_over:
            self._over.add(event.over_between)
        if event.variant is not None:
            tool.shown.add(event.variant != "off")
        if event.outcome not in NO_ERRORS:
            self._fail(tool, event)

    def _tool(self, name: str) -> _Tool:
        tool = self._tools.get(name)
        if tool is None:
            name = name if len(self._tools) < MOST_TOOLS else OTHERS
            tool = self._tools.setdefault(name, _Tool())
        return tool

    def _fail(self, tool: _Tool, event: CallFinished) -> None:
        tool.errors.add(event.outcome)
        self._failed.add(event.outcome)
        self.shed += event.outcome == BUSY
        kind = event.tool, event.outcome
        error = self._errors.use(kind) or _Error(0.0)
        error.at, error.count = self._wall(), error.count + 1
        self._errors.put(kind, error)

    def tick(self) -> None:
        """Has time pass, at least each second."""
        self._count_all()
        now = self._clock()
        if now - self._totals[-1][0] >= 1:
            self._totals.append((now, self.total))
        for _ in range(SLOTS):
            if now - self._turned_at < SLOT_SECONDS:
                return
            self._turned_at += SLOT_SECONDS
            self._turn()
        self._turned_at = now

    def _turn(self) -> None:
        for tool in self._tools.values():
            tool.turn()
        self._left.turn()
        self._over.turn()
        over, failed = self._ms.turn(), self._failed.turn()
        p50, p99 = percentiles(over, (0.5, 0.99))
        rate = round(sum(over.values()) / SLOT_SECONDS, 1)
        point = {"at": round(self._wall(), 1), "p50_ms": p50, "p99_ms": p99, "per_second": rate}
        self._history.append({**point, "errors": sum(failed.values())})

    def calls(self, under_way: int) -> Json:
        (before, then), now = self._totals[0], self._clock()
        rate = (self.total - then) / max(1.0, now - before)
        return {"per_second": round(rate, 1), "under_way": under_way, "shed": self.shed, "total": self.total}

    def tools(self) -> list[Json]:
        return [tool.as_dict(name) for name, tool in self._tools.items() if tool.ms.whole]

    def budget_left(self) -> Json:
        p1, p5, p50 = percentiles(self._left.whole, (0.01, 0.05, 0.5))
        exhausted = self._failed.whole.get(EXHAUSTED, 0)
        between = self._over.whole.get(True, 0)
        over = {
            "over_between": between,
            "over_inside": self._over.whole.get(False, 0),
            "advice": BETWEEN if between else None,
        }
        return {"p50_ms": p50, "p5_ms": p5, "p1_ms": p1, "exhausted": exhausted, **over}

    def errors(self) -> list[Json]:
        """Of each kind, how many since somebody looks; the newest first."""
        kinds = [(kind, error) for kind in reversed(self._errors) if (error := self._errors.peek(kind))]
        return [
            {"at": round(error.at, 1), "tool": tool, "name": name, "count": error.count, "advice": for_failure(name)}
            for (tool, name), error in kinds
        ]

    def history(self) -> list[Json]:
        return list(self._history)

    def shown_share(self, tool: str) -> float | None:
        """How many of those whom its flag decided about had the tool; None where there was nobody."""
        found: Mapping[bool, int] = self._tools[tool].shown.whole if tool in self._tools else {}
        return found.get(True, 0) / sum(found.values()) if found else None
