"""Traces of turns: the agent's spans, to which the store's server adds its own.

Spans are exported only if one of `ENDPOINTS` is set. Strands opens the spans of a turn's model and tools, and `traceparent`
is sent in `_meta` of each tool call.
"""

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
    """Starts the export if an endpoint is set, and returns whether it is. Call it once, before the first agent is made. Adds
    missing settings to `environment`, since Strands and OpenTelemetry read the process's."""
    if not any(environment.get(name) for name in ENDPOINTS):
        return False
    from strands.telemetry import StrandsTelemetry  # importing its exporter takes 60 ms

    for name, value in DEFAULTS.items():
        environment.setdefault(name, value)
    StrandsTelemetry().setup_otlp_exporter(timeout=float(environment.get("OTEL_EXPORTER_OTLP_TIMEOUT", SEND_SECONDS)))
    return True


@contextmanager
def turn_span() -> Iterator[Span]:
    """Opens the span of one question, until its answer, as a trace of its own: below a connection's span all turns of a day
    would be one trace."""
    with trace.get_tracer(__name__).start_as_current_span("turn", context=Context()) as span:
        yield span
