from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.samples import Sample

from server.telemetry.service_levels import NUMBERS, UNDER_WAY, CloudWatchMetric
from session.resilience.clocks import WallClock

SAMPLES_PER_LINE = 10
Row = tuple[CloudWatchMetric, float | list[float]]


class EmfPublisher:
    """Writes this process's metrics in the Embedded Metric Format (EMF) of CloudWatch, which sums them over all processes. A
    counter is written as its growth. `write` defaults to stderr's, since the log would add a prefix to the lines of JSON."""

    def __init__(
        self,
        namespace: str,
        registry: CollectorRegistry,
        write: Callable[[str], object] | None = None,
        wall: WallClock = time.time,
    ) -> None:
        self._namespace, self._registry, self._wall = namespace, registry, wall
        self._write = write or sys.stderr.write
        self._before: dict[str, float] = {}
        self._under_way: list[float] = []

    async def run(self) -> None:
        """Publishes every ten seconds until cancelled, then once more."""
        try:
            while True:
                for _ in range(SAMPLES_PER_LINE):
                    await asyncio.sleep(1.0)  # calls in flight are sampled each second, ten samples a line
                    self._under_way += [sample.value for sample in self._samples([UNDER_WAY.sample])]
                    del self._under_way[100:]  # EMF's limit of values of one metric in a line
                self._publish()
        finally:
            self._publish()

    def _publish(self) -> None:
        self._write("".join(line + "\n" for line in self.lines()))

    def lines(self) -> Iterator[str]:
        """Yields a line without a dimension, and one a backend and replica; of counters the growth since the last call."""
        by_name: dict[str, list[Sample]] = defaultdict(list)
        for sample in self._samples({number.sample for number in NUMBERS}):
            by_name[sample.name].append(sample)
        rows: dict[tuple[str | None, str], list[Row]] = defaultdict(list)
        for number in NUMBERS:
            totals = defaultdict(float, {"": 0.0} if number.kind == "growth" else {})
            for sample in by_name[number.sample]:
                if number.labels == tuple((label, sample.labels[label]) for label, _ in number.labels):
                    totals[sample.labels[number.dimension.lower()] if number.dimension else ""] += sample.value
            for value, total in totals.items():
                rows[number.dimension if value else None, value].append((number, self._value(number, total)))
        milliseconds = round(self._wall() * 1000)
        for (dimension, value), row in rows.items():
            yield self._document(milliseconds, row, {dimension: value} if dimension else {})

    def _value(self, number: CloudWatchMetric, value: float) -> float | list[float]:
        if number.kind == "each second":
            values, self._under_way = self._under_way or [value], []
            return values
        if number.kind == "growth":
            before, self._before[number.name] = self._before.get(number.name, 0.0), value
            return value - before
        return float(value != 0) if number.kind == "not zero" else value

    def _samples(self, names: Iterable[str]) -> Iterator[Sample]:
        for family in self._registry.restricted_registry(names).collect():
            yield from family.samples

    def _document(self, milliseconds: int, rows: list[Row], dimensions: dict[str, str]) -> str:
        metrics = []
        for number, _ in rows:
            # Auto scaling reads per-second values; the rest is stored by the minute.
            fine = {"StorageResolution": 1} if number.kind == "each second" else {}
            metrics.append({"Name": number.name, "Unit": number.unit, **fine})
        directive = {"Namespace": self._namespace, "Dimensions": [list(dimensions)], "Metrics": metrics}
        meta = {"Timestamp": milliseconds, "CloudWatchMetrics": [directive]}
        values = {number.name: value for number, value in rows}
        return json.dumps({"_aws": meta, **dimensions, **values}, separators=(",", ":"))
