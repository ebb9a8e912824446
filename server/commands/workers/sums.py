"""Metrics of several processes as one, without exemplars: nobody's trace is the example of a sum."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

Sample = list[Any]
"""Its name, its labels as a list of pairs, and its value."""
Families = list[dict[str, Any]]
"""Name, type, about and samples of each, as JSON has them."""

COUNTS = ("counter", "histogram")
LEAST = ("manga_ready", "process_start_time_seconds", "process_max_fds")
MOST = ("manga_breaker_state", "manga_build", "manga_replica_lag_seconds")
CREATED = "_created"


def families_of(registry: CollectorRegistry) -> Families:
    return [
        {
            "name": family.name,
            "type": family.type,
            "about": family.documentation,
            "samples": [[each.name, sorted(each.labels.items()), each.value] for each in family.samples],
        }
        for family in registry.collect()
    ]


def only_counts(families: Families) -> Families:
    """What a process leaves behind: a gauge is gone with it."""
    return [family for family in families if family["type"] in COUNTS]


def continued(own: Families, inherited: Families) -> Families:
    """Those of a process that goes on counting where another has ended."""
    return added_up([own, inherited])


def added_up(told: Sequence[Families]) -> Families:
    """One family a name: counts and most gauges are summed, a few are the least or the most that any process has."""
    whole: dict[str, dict[str, Any]] = {}
    values: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
    for family in (each for families in told for each in families):
        name = family["name"]
        whole.setdefault(name, family)
        known = values.setdefault(name, {})
        for sample, labels, value in family["samples"]:
            key = (sample, tuple((label, text) for label, text in labels))
            known[key] = _together(name, sample, known[key], value) if key in known else value
    return [
        {**family, "samples": [[sample, list(labels), value] for (sample, labels), value in values[name].items()]}
        for name, family in whole.items()
    ]


def _together(family: str, sample: str, one: float, other: float) -> float:
    if family in LEAST or sample.endswith(CREATED):
        return min(one, other)
    return max(one, other) if family in MOST else one + other


def text_of(families: Families) -> bytes:
    """In Prometheus's format."""
    registry = CollectorRegistry()
    registry.register(_Told(families))
    return generate_latest(registry)


class _Told(Collector):
    def __init__(self, families: Families) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        for family in self._families:
            metric = Metric(family["name"], family["about"], family["type"])
            for sample, labels, value in family["samples"]:
                metric.add_sample(sample, dict(labels), value)
            yield metric
