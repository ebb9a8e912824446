"""Calls as the operator's page hears of them: made up, the same each time, with the times that the real stages take."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
STAGES = (
    "telemetry", "guard", "shed", "identity", "validate", "session", "shorten", "idempotency", "remember", "complete",
    "fallback", "cache", "admit", "deadline", "tool",
)  # fmt: skip
BUDGET_MS = 3000


@dataclass(slots=True)
class Inside:
    """The intervals of one call, in the order in which they began."""

    intervals: list[Json] = field(default_factory=list)

    def add(self, name: str, kind: str, start: float, ms: float, parent: int | None = None, **more: Any) -> int:
        outcome = more.pop("outcome", "ok")
        self.intervals.append({
            "name": name, "kind": kind, "from_ms": round(start, 2), "ms": round(ms, 2), "parent": parent, "outcome": outcome,
            "detail": more,
        })  # fmt: skip
        return len(self.intervals) - 1

    def stages(self, took: float, upto: str = "tool", lead: float = 0.12) -> int:
        """All stages up to one, each inside the one before. Returns the innermost."""
        parent = None
        for depth, name in enumerate(STAGES[: STAGES.index(upto) + 1]):
            parent = self.add(name, "stage", depth * lead, max(0.2, took - depth * lead * 1.6), parent)
        assert parent is not None
        return parent


def call(number: int, tool: str, at: float, ms: float, into: float, **more: Any) -> Json:
    """`at` in epoch seconds, `into` the milliseconds of the turn at which it began."""
    turn = more.pop("turn", f"{0x9F3A0000 + number * 7919 & 0xFFFFFFFF:08x}")
    base = {
        "call_id": f"call-{number:05d}", "turn": turn, "session": f"{0x51AB0000 + hash_of(turn):08x}", "user": None, "tool": tool,
        "transport": "sse", "at": round(at, 3), "started_ms_into_turn": round(into, 1), "ms": round(ms, 1), "turn_budget_ms": BUDGET_MS,
        "left_ms": round(BUDGET_MS - 200 - into - ms), "outcome": "ok", "source": "live", "fallback": None, "degraded": [],
        "empty": False, "more_intervals": 0, "intervals": [],
    }  # fmt: skip
    return base | more


def hash_of(turn: str) -> int:
    return sum(ord(letter) * 31**place for place, letter in enumerate(turn)) % 0xFFFF


def cached(number: int, tool: str, at: float, into: float, turn: str) -> Json:
    inside, took = Inside(), 4.2 + number % 3
    stage = inside.stages(took, upto="cache", lead=0.08)
    inside.add("begin", "redis", 0.6, 1.4, inside.intervals[5]["parent"])
    inside.add("end", "redis", took - 1.6, 1.2, stage)
    return call(number, tool, at, took, into, turn=turn, source="cache", intervals=inside.intervals)


def live_search(number: int, at: float, into: float, turn: str, chance: random.Random) -> Json:
    inside, search, vector = Inside(), 34 + chance.random() * 40, 22 + chance.random() * 20
    took = search + 22
    stage = inside.stages(took)
    inside.add("begin", "redis", 0.7, 1.5, 5)
    inside.add("embed", "work", 2.6, 11.5, stage)
    inside.add("catalog", "attempt", 3.0, search, stage, attempt=1, waited_ms=0)
    inside.add("catalog", "attempt", 15.0, vector, stage, attempt=1, waited_ms=0)
    inside.add("stock", "attempt", search + 4, 11.0, stage, attempt=1, waited_ms=2.5)
    inside.add("end", "redis", took - 2.4, 1.6, 5)
    return call(number, "search_manga_catalog", at, took, into, turn=turn, intervals=inside.intervals)


def live_stock(number: int, at: float, into: float, turn: str) -> Json:
    inside, took = Inside(), 14.6
    stage = inside.stages(took)
    inside.add("begin", "redis", 0.6, 1.3, 5)
    inside.add("stock", "attempt", 2.4, 9.6, stage, attempt=1, waited_ms=0)
    inside.add("end", "redis", 12.6, 1.4, 5)
    return call(number, "check_inventory", at, took, into, turn=turn, intervals=inside.intervals)


def recommended(number: int, at: float, into: float, turn: str) -> Json:
    inside, took = Inside(), 148.0
    stage = inside.stages(took)
    inside.add("begin", "redis", 0.7, 1.9, 5)
    inside.add("profile", "attempt", 3.0, 31.0, stage, attempt=1, waited_ms=0)
    inside.add("catalog", "attempt", 35.0, 78.0, stage, attempt=1, waited_ms=0)
    inside.add("choose", "work", 114.0, 16.0, stage)
    inside.add("stock", "attempt", 131.0, 12.0, stage, attempt=1, waited_ms=0)
    inside.add("end", "redis", 145.0, 1.8, 5)
    return call(number, "get_recommendations", at, took, into, turn=turn, user="c07d11e2", intervals=inside.intervals)


def hung_search(number: int, at: float, into: float, turn: str) -> Json:
    """The search engine hangs: two attempts, then the standby."""
    inside, took = Inside(), 842.0
    stage = inside.stages(took, upto="fallback")
    inside.add("begin", "redis", 0.6, 1.4, 5)
    inside.add("embed", "work", 2.4, 12.0, stage)
    inside.add("catalog", "attempt", 2.8, 797.0, stage, attempt=1, waited_ms=0, outcome="TIMEOUT")
    inside.add("standby_catalogue", "work", 801.0, 26.0, stage)
    inside.add("stock", "attempt", 828.0, 9.0, stage, attempt=1, waited_ms=0)
    inside.add("end", "redis", 838.0, 1.7, 5)
    return call(
        number, "search_manga_catalog", at, took, into, turn=turn, source="fallback", fallback="standby_catalogue",
        degraded=["vector"], intervals=inside.intervals,
    )  # fmt: skip


def refused_search(number: int, at: float, into: float, turn: str) -> Json:
    """The breaker is open: the standby answers at once."""
    inside, took = Inside(), 31.0
    stage = inside.stages(took, upto="fallback")
    inside.add("begin", "redis", 0.6, 1.4, 5)
    inside.add("catalog", "attempt", 2.6, 0.05, stage, outcome="breaker open")
    inside.add("standby_catalogue", "work", 2.9, 17.0, stage)
    inside.add("stock", "attempt", 20.2, 7.4, stage, attempt=1, waited_ms=0)
    inside.add("end", "redis", 28.0, 1.7, 5)
    return call(
        number, "search_manga_catalog", at, took, into, turn=turn, source="fallback", fallback="standby_catalogue",
        intervals=inside.intervals,
    )  # fmt: skip


def failed_order(number: int, at: float, into: float, turn: str) -> Json:
    inside, took = Inside(), 301.0
    stage = inside.stages(took)
    inside.add("begin", "redis", 0.6, 1.4, 5)
    inside.add("orders", "attempt", 2.2, 140.0, stage, attempt=1, waited_ms=0, outcome="DEPENDENCY_FAILURE")
    inside.add("orders", "attempt", 160.0, 139.0, stage, attempt=2, waited_ms=41, outcome="cancelled")
    return call(
        number, "lookup_order", at, took, into, turn=turn, outcome="TIMEOUT", source=None, user="77ac0431",
        intervals=inside.intervals,
    )  # fmt: skip
