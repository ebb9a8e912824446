"""Calls of the last five minutes by tool, and the failures among them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from server.ops.advice import for_failure
from server.ops.sliding import SLOT_SECONDS, SLOTS, Sliding, bucket, percentiles
from server.telemetry.events import CallFinished
from server.telemetry.turns_over import BETWEEN
from session.resilience.clocks import Clock, WallClock
from session.resilience.lru import Lru

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
