"""Statistics of the last five minutes' calls by tool: sources, latencies, failures, and advice for operators."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Generic, TypeVar

from server.telemetry.events import CallFinished
from server.telemetry.log_calls import REMEDY
from session.resilience.clocks import Clock, WallClock
from session.resilience.lru import Lru

RUNBOOKS = "infra/RUNBOOKS.md"
DOCTOR = "`python -m server doctor` asks it again and says why."


def _advise(text: str, alarm: str) -> str:
    return f"{text} {RUNBOOKS}#{alarm.lower()}"


FAILURES = {
    "VALIDATION_ERROR": "The model's arguments break the tool's schema. Act only if one tool gets many: check its "
    "description. The log names path and rule of each.",
    "TOOL_NOT_FOUND": "A call named a tool that is off. Check the flags, and whether the agent keeps an old list.",
    "NOT_FOUND": "There is no such order or title. Many of them: check that catalogue and orders' table are the right ones.",
    "FORBIDDEN": "A token, a scope or a stated user was refused. Many of them: has a secret or an issuer's key changed?",
    "INPUT_REQUIRED": "No error: the client was asked for more, and calls again.",
    "RATE_LIMITED": _advise(
        "One caller makes more than 10 calls a second. Look for an agent that repeats itself.", "MangaRefusesMany"
    ),
    "SERVER_BUSY": _advise("More calls at once than MANGA_MAX_CONCURRENT_CALLS: add tasks.", "MangaUnusableBurn"),
    "DEPENDENCY_FAILURE": _advise(
        f"A backend refused or broke off: the breakers and dependencies on this page say which. {DOCTOR}", "MangaBackendLost"
    ),
    "TIMEOUT": _advise("A backend was too slow: the waterfalls show which attempt waited. Look at its load.", "MangaSlow"),
    "CIRCUIT_OPEN": _advise(
        "A backend's breaker is open after failures: this page says which, and why. The server tries it again by itself.",
        "MangaBackendLost",
    ),
    "BUDGET_EXHAUSTED": _advise(
        "The turn's time was over before this call began: see what took it in the turn's other calls.", "MangaUnusableBurn"
    ),
    "INTERNAL_ERROR": _advise(
        "A fault in this server: the log has it with its trace, by the call's id.", "MangaInternalErrors"
    ),
}
"""Advice for each failure, by the `name` in the answer's envelope."""
UNKNOWN_FAILURE = _advise("This version does not know the name: search the log for it.", "MangaCallsFail")
_LOST = {
    "catalog": ("The standby catalogue answers where there is one; else searches fall back to popular titles.", "Lost"),
    "titles": ("Details come from the catalogue alone.", "Impaired"),
    "stock": ("Availability is last known.", "Lost"),
    "releases": ("Volumes and their dates are missing.", "Impaired"),
    "orders": ("Orders cannot be shown: there is no fallback.", "Lost"),
    "profile": ("Recommendations ignore the customer's taste.", "Impaired"),
    "pages": ("There are no previews.", "Impaired"),
    "classifier": ("Texts are not classified.", "Impaired"),
    "embedder": ("Searches go by words alone.", "Impaired"),
}
DEPENDENCIES = {name: _advise(f"{text} {DOCTOR}", f"MangaBackend{alarm}") for name, (text, alarm) in _LOST.items()} | {
    "redis": _advise(f"Each process uses its own memory. {DOCTOR}", "MangaRedisAway"),
    "background": _advise("A background task has died and restarts; the log says why.", "MangaBackgroundTaskDies"),
    "packages": "A package's tools were not loaded: `python -m server tools` says why.",
    "flags": _advise("The last valid flags stay in use: mend the document or its source.", "MangaFlagsLag"),
    "standby": _advise(
        "If search fails now, the standby catalogue is missing or old: check that the seed has run.", "MangaReplicaLags"
    ),
}
"""Advice for each dependency that is not well, by its name in `/readyz`."""

SLOTS, SLOT_SECONDS = 60, 5.0
SMALLEST_MS, GROWTH = 0.1, 1.1
MOST_BUCKETS = 160
"""Buckets up to seven minutes; longer durations count in the last one."""
NO_ERRORS = ("ok", "cancelled", "INPUT_REQUIRED")
BUSY = "SERVER_BUSY"
SOURCES = ("live", "cache", "stale", "fallback")
MOST_TOOLS = 64
OTHERS = "others"
"""The name under which tools beyond `MOST_TOOLS` are counted; reloaded packages may bring ever new tools."""
MOST_ERRORS = 20
K = TypeVar("K", bound=Hashable)
Json = dict[str, Any]


class SlidingCounter(Generic[K]):
    """Counts keys over the last `SLOTS` slots of `SLOT_SECONDS` each. `total` has each key's count over all slots.
    `advance`, to be called at the end of each slot, returns that slot's counts."""

    def __init__(self) -> None:
        self._slots: deque[Counter[K]] = deque([Counter()], SLOTS)
        self.total: Counter[K] = Counter()

    def add(self, key: K) -> None:
        self._slots[-1][key] += 1
        self.total[key] += 1

    def advance(self) -> Counter[K]:
        finished = self._slots[-1]
        if len(self._slots) == SLOTS:
            self.total -= self._slots[0]  # drops keys that reach zero
        self._slots.append(Counter())
        return finished


def bucket(ms: float) -> int:
    """Returns the index of a duration's histogram bucket. Each bucket is 10 % wider than the one before, as in DDSketch
    (VLDB 2019), so that percentiles are within 5 %."""
    return 0 if ms <= SMALLEST_MS else min(MOST_BUCKETS, 1 + int(math.log(ms / SMALLEST_MS) / math.log(GROWTH)))


def percentiles(counts: Mapping[int, int], shares: Sequence[float]) -> list[float | None]:
    """Returns the milliseconds at each of the `shares` (0 to 1) of durations counted by `bucket`; None without any."""
    if not counts:
        return [None] * len(shares)
    buckets = sorted(counts)
    sums = list(accumulate(counts[each] for each in buckets))
    found = [buckets[bisect_left(sums, share * sums[-1])] for share in shares]
    return [round(SMALLEST_MS * GROWTH ** (at - 0.5), 1) if at else 0.0 for at in found]


@dataclass(slots=True)
class _Tool:
    ms: SlidingCounter[int] = field(default_factory=SlidingCounter)
    sources: SlidingCounter[str] = field(default_factory=SlidingCounter)
    errors: SlidingCounter[str] = field(default_factory=SlidingCounter)
    decisions: SlidingCounter[bool] = field(default_factory=SlidingCounter)

    def advance(self) -> tuple[Counter[int], Counter[str]]:
        """Ends the slot, and returns its durations and errors."""
        self.sources.advance()
        self.decisions.advance()
        return self.ms.advance(), self.errors.advance()

    def as_dict(self, name: str) -> Json:
        p50, p95, p99 = percentiles(self.ms.total, (0.5, 0.95, 0.99))
        row = {"name": name, "calls": self.ms.total.total(), "p50_ms": p50, "p95_ms": p95, "p99_ms": p99}
        return row | {"sources": {each: self.sources.total[each] for each in SOURCES}, "errors": dict(self.errors.total)}


class CallStatistics:
    """A sink that counts call events. `total` and `shed` begin with the given counts, and grow with events."""

    def __init__(self, clock: Clock, wall: WallClock, total: int, shed: int) -> None:
        self._clock, self._wall = clock, wall
        self.total, self.shed = total, shed
        self._tools: dict[str, _Tool] = {}
        self._left, self._over = SlidingCounter[int](), SlidingCounter[bool]()
        self._uncounted: list[CallFinished] = []
        self._errors: Lru[tuple[str, str], tuple[float, int]] = Lru(MOST_ERRORS)
        self._history: deque[Json] = deque(maxlen=SLOTS)
        self._advanced_at = clock()
        self._totals: deque[tuple[float, int]] = deque([(clock(), total)], 6)  # one a second, for the rate over five seconds

    def __call__(self, event: CallFinished) -> None:
        """Queues the event. Counting in batches takes half the time."""
        self._uncounted.append(event)
        if len(self._uncounted) >= 256:
            self._count_all()

    def tick(self) -> None:
        """Counts queued events, and begins a new slot every `SLOT_SECONDS`. Must be called at least once a second."""
        self._count_all()
        now = self._clock()
        if now - self._totals[-1][0] >= 1:
            self._totals.append((now, self.total))
        slots = int((now - self._advanced_at) / SLOT_SECONDS)
        self._advanced_at += slots * SLOT_SECONDS
        for _ in range(min(slots, SLOTS)):
            self._advance()

    def _count_all(self) -> None:
        uncounted, self._uncounted = self._uncounted, []
        for event in uncounted:
            self._count(event)

    def _count(self, event: CallFinished) -> None:
        name = event.tool if event.tool in self._tools or len(self._tools) < MOST_TOOLS else OTHERS
        tool = self._tools.setdefault(name, _Tool())
        self.total += 1
        tool.ms.add(bucket(event.milliseconds))
        if event.source is not None:
            tool.sources.add(event.source)
        if event.budget_left_ms is not None:
            self._left.add(bucket(event.budget_left_ms))
        if event.turn_over:
            self._over.add(event.over_between)
        if event.variant is not None:
            tool.decisions.add(event.variant != "off")
        if event.outcome not in NO_ERRORS:
            tool.errors.add(event.outcome)
            self.shed += event.outcome == BUSY
            kind = event.tool, event.outcome
            _, count = self._errors.use(kind) or (0.0, 0)
            self._errors.put(kind, (self._wall(), count + 1))

    def _advance(self) -> None:
        calls, errors = Counter[int](), 0
        for tool in self._tools.values():
            durations, failed = tool.advance()
            calls.update(durations)
            errors += failed.total()
        self._left.advance()
        self._over.advance()
        p50, p99 = percentiles(calls, (0.5, 0.99))
        rate, at = round(calls.total() / SLOT_SECONDS, 1), round(self._wall(), 1)
        self._history.append({"at": at, "p50_ms": p50, "p99_ms": p99, "per_second": rate, "errors": errors})

    def calls(self, in_flight: int) -> Json:
        (before, then), now = self._totals[0], self._clock()
        rate = (self.total - then) / max(1.0, now - before)
        return {"per_second": round(rate, 1), "under_way": in_flight, "shed": self.shed, "total": self.total}

    def tools(self) -> list[Json]:
        return [tool.as_dict(name) for name, tool in self._tools.items() if tool.ms.total]

    def budget_left(self) -> Json:
        p1, p5, p50 = percentiles(self._left.total, (0.01, 0.05, 0.5))
        between, inside = self._over.total[True], self._over.total[False]
        exhausted = sum(tool.errors.total["BUDGET_EXHAUSTED"] for tool in self._tools.values())
        left = {"p50_ms": p50, "p5_ms": p5, "p1_ms": p1, "exhausted": exhausted}
        return {**left, "over_between": between, "over_inside": inside, "advice": REMEDY if between else None}

    def errors(self) -> list[Json]:
        """Returns the last `MOST_ERRORS` kinds of errors, the latest first, with their counts since this object was made."""
        kinds = [(kind, error) for kind in reversed(self._errors) if (error := self._errors.peek(kind))]
        return [
            {"at": round(at, 1), "tool": tool, "name": name, "count": count, "advice": FAILURES.get(name, UNKNOWN_FAILURE)}
            for (tool, name), (at, count) in kinds
        ]

    def history(self) -> list[Json]:
        return list(self._history)

    def on_share(self, tool: str) -> float | None:
        """Returns the share (0 to 1) of the tool's calls of the last five minutes with its flag on; None without calls."""
        found = self._tools[tool].decisions.total if tool in self._tools else Counter[bool]()
        return found[True] / found.total() if found else None
