"""CloudWatch metrics in embedded metric format: one batch of lines every ten seconds, from the Prometheus registry."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.samples import Sample

from server.telemetry.service_levels import NUMBERS, UNDER_WAY, Kind, Number
from session.resilience.clocks import WallClock

MOST_VALUES = 100
"""What one metric may have in one line."""
Value = float | list[float]
Row = tuple[Number, Value]


def document(namespace: str, milliseconds: int, rows: Sequence[Row], dimensions: Mapping[str, str]) -> str:
    """Returns one line, without its end. `milliseconds` are since the epoch; all `rows` share the `dimensions`."""
    metrics = [_definition(number) for number, _ in rows]
    directive = {"Namespace": namespace, "Dimensions": [list(dimensions)], "Metrics": metrics}
    meta = {"Timestamp": milliseconds, "CloudWatchMetrics": [directive]}
    values = {number.name: value for number, value in rows}
    return json.dumps({"_aws": meta, **dimensions, **values}, separators=(",", ":"))


def _definition(number: Number) -> dict[str, object]:
    # Auto scaling looks three times a minute at what is kept by the second; the rest is kept by the minute.
    fine = {"StorageResolution": 1} if number.kind is Kind.EACH_SECOND else {}
    return {"Name": number.name, "Unit": number.unit, **fine}


Rows = dict[str | None, list[Row]]
"""By the value of their one dimension; None for those that have none."""


class Readings:
    """Counters are read as what they have grown by, so that lines of several processes and tasks add up."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._before: dict[str, float] = {}
        self._under_way: list[float] = []

    def look(self) -> None:
        """Takes down what is read each second."""
        values = [sample.value for sample in self._samples([UNDER_WAY.sample])]
        if len(self._under_way) < MOST_VALUES:
            self._under_way += values

    def rows(self) -> Rows:
        """Returns what there is to tell since the last time."""
        by_name: dict[str, list[Sample]] = defaultdict(list)
        for sample in self._samples({number.sample for number in NUMBERS}):
            by_name[sample.name].append(sample)
        rows: Rows = defaultdict(list)
        for number in NUMBERS:
            for sample in by_name[number.sample]:
                if number.labels == tuple((label, sample.labels[label]) for label, _ in number.labels):
                    rows[sample.labels[number.by] if number.by else None].append((number, self._value(number, sample.value)))
        return rows

    def _value(self, number: Number, value: float) -> Value:
        if number.kind is Kind.EACH_SECOND:
            told, self._under_way = self._under_way or [value], []
            return told
        if number.kind is Kind.GROWN:
            before, self._before[number.name] = self._before.get(number.name, 0.0), value
            return value - before
        return value if number.open_from is None else float(value >= number.open_from)

    def _samples(self, names: Iterable[str]) -> Iterator[Sample]:
        """Asks only the collectors of these."""
        for family in self._registry.restricted_registry(names).collect():
            yield from family.samples


LOOKS = 10
LOOK_SECONDS = 1.0
"""Between two looks at the calls under way; ten of them to a line."""
OFF = "off"
Run = Callable[[str, Callable[[], Coroutine[Any, Any, None]]], object]
Write = Callable[[str], object]


def to_stderr(text: str) -> None:
    """Hands over to the writer of the log, which waits for nobody: without the log's prefix, which would make it no JSON."""
    sys.stderr.write(text)


class EmfPublisher:
    """Every process tells for itself; CloudWatch adds up. Lines hold counts, states and the names of backends."""

    def __init__(
        self, namespace: str, registry: CollectorRegistry, write: Write = to_stderr, wall: WallClock = time.time
    ) -> None:
        self._namespace, self._write, self._wall = namespace, write, wall
        self._readings = Readings(registry)

    async def keep(self) -> None:
        """Runs until cancelled, and tells the rest then: the last calls of a task that is stopped count too."""
        try:
            while True:
                for _ in range(LOOKS):
                    await asyncio.sleep(LOOK_SECONDS)
                    self._readings.look()
                self.tell()
        finally:
            self.tell()

    def tell(self) -> None:
        self._write("".join(line + "\n" for line in self.lines()))

    def lines(self) -> Iterator[str]:
        """Returns those of now: one of what has no dimension, and one for each backend and replica."""
        now = round(self._wall() * 1000)
        for value, rows in self._readings.rows().items():
            dimension = rows[0][0].dimension
            yield document(self._namespace, now, rows, {dimension: value} if dimension and value else {})


def publish_emf(namespace: str, registry: CollectorRegistry, run: Run) -> None:
    """Has the numbers told by a task of `run`, where MANGA_EMF is a namespace."""
    if namespace != OFF:
        run("metrics for CloudWatch", EmfPublisher(namespace, registry).keep)
