"""OpenTelemetry traces of turns (a customer's question and its answer).

Strands opens the spans of model and tool calls. Each tool call sends `traceparent` in `_meta`, and the store's server adds
its own spans. Spans are exported only if one of `ENDPOINTS` is set."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
OUTCOME = "mangaassist.turn.outcome"
SEND_SECONDS = 2
"""Most seconds that an absent Collector delays the end of the process."""
DEFAULTS = {
    "OTEL_SERVICE_NAME": "manga-agent",
    # The latest conventions, without message texts: more people read traces than may read conversations.
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental,gen_ai_unredacted_attributes=",
}


def export_spans(environment: MutableMapping[str, str]) -> bool:
    """Starts the export of spans if an endpoint is set; returns whether it is. Call it once, before the first agent is made.
    Adds missing `DEFAULTS` to `environment`; pass os.environ, where Strands and OpenTelemetry read their settings."""
    if not any(environment.get(name) for name in ENDPOINTS):
        return False
    from strands.telemetry import StrandsTelemetry  # importing its exporter takes 60 ms

    for name, value in DEFAULTS.items():
        environment.setdefault(name, value)
    StrandsTelemetry().setup_otlp_exporter(timeout=float(environment.get("OTEL_EXPORTER_OTLP_TIMEOUT", SEND_SECONDS)))
    return True


@contextmanager
def turn_span() -> Iterator[Span]:
    """Opens a root span for one question and its answer, since children of the connection's span would share one trace."""
    with trace.get_tracer(__name__).start_as_current_span("turn", context=Context()) as span:
        yield span
