"""Metrics carry the flag segment by which a tool was on."""

from __future__ import annotations

from server.telemetry import metrics as module
from server.telemetry.metrics import Metrics
from tests.support.events import an_event


def variants(metrics: Metrics) -> set[str]:
    samples = [sample for family in metrics.registry.collect() for sample in family.samples]
    return {sample.labels["variant"] for sample in samples if sample.name == "manga_calls_total"}


def test_call_metrics_have_the_variant_as_a_label() -> None:
    metrics = Metrics()
    for variant, milliseconds in (("staff", 3.0), ("staff", 3.0), ("off", 1.0), (None, 1.0)):
        metrics(an_event(variant=variant, milliseconds=milliseconds))
    read = metrics.registry.get_sample_value
    here = {"tool": "lookup_order", "variant": "staff"}
    assert read("manga_calls_total", {**here, "outcome": "ok", "source": "live"}) == 2
    assert read("manga_call_seconds_count", here) == 2
    assert variants(metrics) == {"staff", "off", "none"}


def test_number_of_variant_labels_is_bounded() -> None:
    """Segments may be renamed any number of times while a process lives."""
    metrics = Metrics()
    for number in range(3 * module.MOST_VARIANTS):
        metrics(an_event(variant=f"try {number}"))
    metrics(an_event(variant="try 0"))
    assert len(variants(metrics)) == module.MOST_VARIANTS + 1
    assert "other" in variants(metrics)
    labels = {"tool": "lookup_order", "outcome": "ok", "source": "live", "variant": "try 0"}
    assert metrics.registry.get_sample_value("manga_calls_total", labels) == 2
