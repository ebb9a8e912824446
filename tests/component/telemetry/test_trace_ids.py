"""A call's trace is found from its log line, its audit line and the exemplars of histograms."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from server.call import Call, Outcome
from server.stages.telemetry import GuardStage
from server.telemetry.events import CallFinished
from server.telemetry.log_calls import CallLog
from server.telemetry.metrics import Metrics
from tests.support.calls import IDS, QUERY
from tests.support.observers import Wants
from tests.support.pipeline import Kit, Opener

pytestmark = pytest.mark.virtual_time
TRACE = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE}-b7ad6b7169203331-00"
OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


async def event_of(opener: Opener, traceparent: str | None, *observers: Wants) -> CallFinished:
    kit = await opener(observers=observers)
    await kit.ask("check_inventory", IDS, traceparent=traceparent)
    event: CallFinished = kit.events[-1]
    return event


def line_of(event: CallFinished, caplog: pytest.LogCaptureFixture) -> dict[str, Any]:
    caplog.set_level(logging.INFO, "manga.calls")
    caplog.clear()
    CallLog("all")(event)
    (record,) = (each for each in caplog.records if each.name == "manga.calls")
    said: dict[str, Any] = json.loads(record.getMessage())
    return said


async def test_log_line_has_the_ids_of_trace_and_span(opener: Opener, caplog: pytest.LogCaptureFixture) -> None:
    event = await event_of(opener, TRACEPARENT, Wants(traces=True))
    assert event.timeline is not None
    line = line_of(event, caplog)
    assert (line["trace_id"], line["span_id"]) == (TRACE, f"{event.timeline.call.span_id:016x}")


@pytest.mark.parametrize("observers", [(), (Wants(),)], ids=["nobody watches", "only looked at"])
async def test_log_line_without_an_own_span_has_the_trace_id_of_the_caller(
    observers: tuple[Wants, ...], opener: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    line = line_of(await event_of(opener, TRACEPARENT, *observers), caplog)
    assert (line["trace_id"], "span_id" in line) == (TRACE, False)


@pytest.mark.parametrize("traceparent", [None, "x"])
async def test_log_line_without_a_trace_has_no_trace_id(
    traceparent: str | None, opener: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    line = line_of(await event_of(opener, traceparent), caplog)
    assert {"trace_id", "span_id"}.isdisjoint(line)


async def test_unexpected_error_is_logged_with_its_trace_id(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    async def breaks(call: Call) -> Outcome:
        raise RuntimeError("unforeseen")

    for traceparent, said in ((TRACEPARENT, f"failed unexpectedly, trace {TRACE}"), (None, "failed unexpectedly")):
        caplog.clear()
        await GuardStage()(kit.call("search_manga_catalog", QUERY, traceparent=traceparent), breaks)
        assert caplog.records[-1].getMessage().endswith(said)


async def test_histogram_has_an_exemplar_for_a_sampled_call(opener: Opener) -> None:
    event = await event_of(opener, TRACEPARENT, Wants(traces=True))
    metrics = Metrics()
    metrics(event)
    text, content_type = metrics.text_for(OPENMETRICS)
    assert content_type.startswith("application/openmetrics-text")
    families = {each.name: each for each in text_string_to_metric_families(text.decode())}
    (exemplar,) = (each.exemplar for each in families["manga_call_seconds"].samples if each.exemplar)
    assert exemplar.labels == event.trace
    assert exemplar.value == event.milliseconds / 1000
    plain, content_type = metrics.text_for("text/plain")
    assert content_type.startswith("text/plain")
    assert TRACE.encode() not in plain


async def test_unsampled_call_gives_no_exemplar(opener: Opener) -> None:
    """Its caller's trace may not be stored anywhere."""
    metrics = Metrics()
    for observers in ((), (Wants(),)):
        metrics(await event_of(opener, TRACEPARENT, *observers))
    assert TRACE.encode() not in metrics.text_for(OPENMETRICS)[0]
