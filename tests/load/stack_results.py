"""The figures of a run on the real stack, and the bars they are held against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.load.collector import Collected
from tests.load.results import Bar, percentile
from tests.load.stack_servers import BEHIND, NAMES
from tests.load.stack_turns import CALLS, UNCACHED


@dataclass(frozen=True, slots=True)
class Load:
    """So many clients, each with so many seconds to think after a turn. Without any, many clients ask for more than the
    machine can do."""

    clients: int
    thinking: float = 0.0

    @property
    def bearable(self) -> bool:
        return self.clients == 1 or self.thinking > 0

    def __str__(self) -> str:
        return f"{self.clients}{' thinking' if self.thinking else ''}"


Key = tuple[str, Load]
"""Kind of turn, and how much is asked."""
TURN_MS = 2800
"""What a turn has without what is kept for the agent."""
MOST_MB = 180.0
MOST_WRONG_PERCENT = 1.0


@dataclass(slots=True)
class Sample:
    """Turns of so many clients in all rounds: seconds of each call, a list for each kind of call."""

    seconds_of: dict[str, list[float]] = field(default_factory=lambda: {call: [] for call in CALLS})
    turns: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu_ms: float = 0.0
    client_cpu_ms: float = 0.0
    collected: Collected = field(default_factory=Collected)
    wrong: int = 0
    first_wrong: str | None = None

    def add(self, answer: Mapping[str, Any], cpu_ms: float, collected: Collected) -> None:
        """`answer` is the load generator's to `go`; `collected` and `cpu_ms` are of the server meanwhile."""
        for calls in answer["calls"]:
            for at in range(0, len(calls), len(CALLS)):
                took = [seconds for _, seconds in calls[at : at + len(CALLS)]]
                self.turns.append(sum(took))
                for call, each in zip(CALLS, took, strict=True):
                    self.seconds_of[call].append(each)
        self.seconds += answer["seconds"]
        self.cpu_ms += cpu_ms
        self.collected.add(collected)
        self.client_cpu_ms += answer["client_cpu_ms"]
        self.wrong += answer["wrong"]
        self.first_wrong = self.first_wrong or answer["first_wrong"]

    @property
    def calls(self) -> int:
        return len(self.turns) * len(CALLS)

    @property
    def wrong_percent(self) -> float:
        return 100 * self.wrong / max(1, self.calls)


@dataclass(frozen=True, slots=True)
class Trips:
    """Of one kind of call: round trips a call to each backend, and medians of its ms in all and of those in which some
    backend had it."""

    a_call: Mapping[str, float]
    ms: float
    waiting_ms: float

    @property
    def own_ms(self) -> float:
        return self.ms - self.waiting_ms

    @classmethod
    def of(cls, calls: Sequence[Sequence[float]], trips: Mapping[str, Sequence[Sequence[float]]]) -> Trips:
        """`calls` are (begin, seconds) and `trips` (begin, end), one call at a time. A trip belongs to the call in which it
        began; one that began between two calls, to none."""
        counts = dict.fromkeys((*NAMES, BEHIND), 0)
        waited = []
        for begin, seconds in calls:
            end = begin + seconds
            within = {name: [t for t in there if begin <= t[0] < end] for name, there in trips.items()}
            for name, there in within.items():
                counts[name] += len(there)
            waited.append(_covered([t for name, there in within.items() if name != BEHIND for t in there], end))
        many = len(calls)
        a_call = {name: count / many for name, count in counts.items()}
        return cls(a_call, percentile([s for _, s in calls], 0.5) * 1000, percentile(waited, 0.5) * 1000)


def _covered(trips: Sequence[Sequence[float]], until: float) -> float:
    """The seconds in which at least one of them was under way."""
    total, reached = 0.0, 0.0
    for begin, end in sorted((t[0], min(t[1], until)) for t in trips):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


@dataclass(slots=True)
class Memory:
    """MB of the server at each step, and what Redis holds for the sessions."""

    streams: int
    sessions: int
    ready_mb: float = 0.0
    used_mb: float = 0.0
    open_mb: float = 0.0
    called_mb: float = 0.0
    peak_mb: float = 0.0
    before_sessions_mb: float = 0.0
    after_sessions_mb: float = 0.0
    redis_bytes: int = 0
    wrong: int = 0
    first_wrong: str | None = None

    @property
    def stream_kb(self) -> float:
        return (self.open_mb - self.used_mb) * 1024 / self.streams

    @property
    def session_bytes(self) -> float:
        """In Redis."""
        return self.redis_bytes / self.sessions

    @property
    def session_rss_bytes(self) -> float:
        """In the server."""
        return (self.after_sessions_mb - self.before_sessions_mb) * 2**20 / self.sessions


@dataclass(slots=True)
class Results:
    samples: dict[Key, Sample] = field(default_factory=dict)
    trips: dict[tuple[str, str], Trips] = field(default_factory=dict)
    """By kind of turn and kind of call."""
    memory: Memory | None = None
    end_mb: dict[str, float] = field(default_factory=dict)
    """RSS of each server after everything."""

    def bars(self) -> list[Bar]:
        return [*self._memory(), *self._trips(), *self._turns()]

    def missed(self) -> list[Bar]:
        return [bar for bar in self.bars() if not bar.met]

    def _memory(self) -> Iterator[Bar]:
        if self.memory is not None:
            name = f"most RSS in MB with {self.memory.streams} clients that each take turns"
            yield Bar(name, self.memory.peak_mb, MOST_MB, at_least=False)

    def _trips(self) -> Iterator[Bar]:
        if self.trips:
            most = max(trips.a_call["Redis"] for trips in self.trips.values())
            yield Bar("Redis round trips a call, at most", most, 2.0, at_least=False)

    def _turns(self) -> Iterator[Bar]:
        for (kind, load), sample in self.samples.items():
            if kind == UNCACHED:
                late = percentile(sample.turns, 0.99) * 1000
                yield Bar(f"p99 of an uncached turn in ms, clients: {load}", late, TURN_MS, at_least=False)
        for (kind, load), sample in self.samples.items():
            if load.bearable:
                name = f"% of answers not as promised, {kind}, clients: {load}"
                yield Bar(name, sample.wrong_percent, MOST_WRONG_PERCENT, at_least=False)
