"""The figures of a run, and the bars they are held against."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter

Key = tuple[str, int]
FEW, MANY = 1, 32
GROWTH = 1.15
"""What noise may make of a ratio of one."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One variant with so many clients in one round. CPU is ms a call."""

    latencies: list[float]
    seconds: float
    cpu_ms: float
    valkey_cpu_ms: float | None = None
    client_cpu_ms: float | None = None
    trips: float | None = None
    wrong: int = 0

    @property
    def calls_per_second(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile_ms(self, share: float) -> float:
        return percentile(self.latencies, share) * 1000


@dataclass(frozen=True, slots=True)
class Growth:
    """Medians in ms: calls 1 to 100 and 901 to 1000 of a session; calls round 10 sessions and round `many`."""

    young_ms: float
    old_ms: float
    few_ms: float
    many_ms: float
    many: int


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure has to be; an aim is told and not enforced."""

    name: str
    value: float
    limit: float
    at_least: bool
    aim: bool = False

    @property
    def met(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclass(slots=True)
class Results:
    samples: dict[Key, list[Sample]] = field(default_factory=dict)
    rss_mb: dict[str, float] = field(default_factory=dict)
    valkey_rss_mb: dict[str, float] = field(default_factory=dict)
    commands: dict[str, tuple[float, float]] = field(default_factory=dict)
    growth: Growth | None = None
    answer_bytes: int = 0

    def add(self, variant: str, clients: int, sample: Sample) -> None:
        self.samples.setdefault((variant, clients), []).append(sample)

    def has(self, *keys: Key) -> bool:
        return all(key in self.samples for key in keys)

    def median(self, key: Key, figure: str) -> float:
        return statistics.median(map(attrgetter(figure), self.samples[key]))

    def latency_ms(self, key: Key, share: float) -> float:
        return percentile([each for sample in self.samples[key] for each in sample.latencies], share) * 1000

    def compared(self, one: Key, other: Key, compare: Callable[[Sample, Sample], float]) -> float:
        """Within each round, then the median over the rounds."""
        pairs = zip(self.samples[one], self.samples[other], strict=True)
        return statistics.median(compare(a, b) for a, b in pairs)

    def bars(self) -> list[Bar]:
        """Those that this run has the figures for."""
        return [*self._beside_others(), *self._trips(), *self._growth()]

    def _beside_others(self) -> Iterator[Bar]:
        echo, same, ordinary, own = ("A", MANY), ("A=", MANY), ("B", MANY), ("C", MANY)
        if self.has(own, ordinary):
            yield Bar("C/B calls/s, 32 clients", self.compared(own, ordinary, _speed), 0.8, at_least=True)
        if self.has(("C", FEW), ("A", FEW)):
            added = self.compared(("C", FEW), ("A", FEW), _added_ms)
            yield Bar("C p50 - A p50 in ms, 1 client", added, 2.0, at_least=False)
        if self.has(own, echo):
            yield Bar("C/A server CPU a call, 32 clients", self.compared(own, echo, _cpu), 3.0, at_least=False)
            yield Bar("C/A calls/s, 32 clients", self.compared(own, echo, _speed), 0.6, at_least=True, aim=True)
        if self.has(own, same):
            yield Bar("C/A= calls/s, 32 clients", self.compared(own, same, _speed), 0.6, at_least=True, aim=True)

    def _trips(self) -> Iterator[Bar]:
        for clients in (FEW, MANY):
            if self.has(("D", clients)):
                trips = self.median(("D", clients), "trips")
                yield Bar(f"Redis trips a call, D, {clients} clients", trips, 2.0, at_least=False)
        if "C" in self.commands:
            yield Bar("Redis trips a call as Valkey counts its reads, C", self.commands["C"][0], 2.05, at_least=False)

    def _growth(self) -> Iterator[Bar]:
        if (growth := self.growth) is None:
            return
        aged = growth.old_ms / growth.young_ms
        yield Bar("p50 of calls 901-1000 / calls 1-100 of a session", aged, GROWTH, at_least=False)
        crowded = growth.many_ms / growth.few_ms
        yield Bar(f"p50 with {growth.many} sessions / with 10", crowded, GROWTH, at_least=False)

    def missed(self) -> list[Bar]:
        return [bar for bar in self.bars() if not bar.met and not bar.aim]


def percentile(values: list[float], share: float) -> float:
    """Nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _speed(one: Sample, other: Sample) -> float:
    return one.calls_per_second / other.calls_per_second


def _cpu(one: Sample, other: Sample) -> float:
    return one.cpu_ms / other.cpu_ms


def _added_ms(one: Sample, other: Sample) -> float:
    return one.percentile_ms(0.5) - other.percentile_ms(0.5)
