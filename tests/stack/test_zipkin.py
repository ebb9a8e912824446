"""The trace viewer takes spans by OTLP, gives them back as they were, and shows them in a browser."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode

from tests.stack.otlp_door import PATH
from tests.stack.zipkin import Viewer

pytestmark = pytest.mark.timeout(120)


def test_spans_come_back_as_they_were_sent(trace_viewer: Viewer) -> None:
    """With OpenTelemetry's own exporter: parents, kinds, what they say, and what went wrong."""
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{trace_viewer.otlp}{PATH}", compression=None)))
    tracer = provider.get_tracer("test")
    said = {"rounds": 2, "cached": True, "words": ["a", "b"]}
    with (
        tracer.start_as_current_span("turn", attributes=said) as turn,
        tracer.start_as_current_span("call", kind=SpanKind.CLIENT) as call,
    ):
        call.add_event("retried")
        call.set_status(Status(StatusCode.ERROR, "away"))
    provider.shutdown()
    trace_id = f"{turn.get_span_context().trace_id:032x}"
    found = {each["name"]: each for each in trace_viewer.spans(trace_id)}
    assert found.keys() == {"turn", "call"}
    assert found["turn"]["tags"] == {"rounds": "2", "cached": "true", "words": '["a", "b"]'}
    assert found["call"]["parentId"] == found["turn"]["id"] == f"{turn.get_span_context().span_id:016x}"
    assert (found["call"]["kind"], found["call"]["tags"]["error"]) == ("CLIENT", "away")
    assert [each["value"] for each in found["call"]["annotations"]] == ["retried"]
    assert found["turn"]["localEndpoint"]["serviceName"] == "shop"
    assert found["turn"]["duration"] >= found["call"]["duration"] > 0


def test_a_trace_that_nobody_sent_has_no_spans(trace_viewer: Viewer) -> None:
    assert trace_viewer.spans("0" * 31 + "1") == []


@pytest.mark.parametrize(
    ("path", "kind", "status"), [("/v1/logs", "application/x-protobuf", 404), (PATH, "text/plain", 415)]
)
def test_the_door_takes_nothing_else(trace_viewer: Viewer, path: str, kind: str, status: int) -> None:
    asking = urllib.request.Request(f"{trace_viewer.otlp}{path}", b"x", {"Content-Type": kind})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asking, timeout=10)
    assert refused.value.code == status
    refused.value.close()
