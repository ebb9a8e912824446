"""What the process's own registry says of the numbers, from one line to the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.samples import Sample

from server.telemetry.emf.document import MOST_VALUES, Row, Value
from server.telemetry.emf.numbers import NUMBERS, UNDER_WAY, Kind, Number

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
