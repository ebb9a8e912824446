"""One OpenTelemetry span a call, under the caller's trace. Without an exporter configured it costs next to nothing."""

from __future__ import annotations

import time

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from server.telemetry.events import CallFinished


class Spans:
    """Names follow the semantic conventions for MCP: `tools/call NAME`."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._provider = provider
        self._tracer = trace.get_tracer("manga-tools", tracer_provider=provider)
        self._propagator = TraceContextTextMapPropagator()

    def __call__(self, event: CallFinished) -> None:
        if self._provider is None and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            return  # nobody has configured any tracing
        end = time.time_ns()
        carrier = {"traceparent": event.traceparent} if event.traceparent else {}
        span = self._tracer.start_span(
            f"tools/call {event.tool}",
            context=self._propagator.extract(carrier),
            kind=SpanKind.SERVER,
            start_time=end - round(event.milliseconds * 1e6),
        )
        if span.is_recording():
            span.set_attributes(_attributes(event))
            if event.outcome != "ok":
                span.set_status(Status(StatusCode.ERROR, event.outcome))
        span.end(end)


def _attributes(event: CallFinished) -> dict[str, str | int | tuple[str, ...]]:
    attributes: dict[str, str | int | tuple[str, ...]] = {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": event.tool,
        "manga.call_id": event.call_id,
        "manga.outcome": event.outcome,
        "manga.degraded": event.degraded,
    }
    if event.source is not None:
        attributes["manga.source"] = event.source
    if event.budget_left_ms is not None:
        attributes["manga.budget_left_ms"] = event.budget_left_ms
    return attributes
