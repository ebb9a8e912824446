"""Exports spans to a collector in batches, from a bounded queue on a thread, so that calls never wait for the export."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from urllib3.exceptions import HTTPError

from server.telemetry.events import CallFinished, TraceContext
from server.version import VERSION
from session.resilience.breaker import Outage
from session.resilience.deadline import CANCELLED, OK, Span, Timeline
from session.resilience.diagnosis import network_problem
from session.resilience.tasks import run_on_thread

Value = str | int | float | bool | tuple[str, ...]
Attributes = dict[str, Value]
METHODS_BY_KIND = {"resource": "resources/read", "prompt": "prompts/get", "completion": "completion/complete"}
"""MCP methods of calls other than tool calls, by the first word of the call's name. An extension's call names its method."""
REDIS = "redis"


def method_and_target(name: str) -> tuple[str, str | None]:
    """Returns the MCP method of the call with this name, and the name of its tool or prompt. The second is None for other
    methods, since span names must not contain URIs."""
    kind, _, rest = name.partition(" ")
    if not rest:
        return "tools/call", name
    return rest if kind == "method" else METHODS_BY_KIND[kind], rest if kind == "prompt" else None


def call_attributes(event: CallFinished) -> Attributes:
    method, target = method_and_target(event.tool)
    attributes: Attributes = {
        "mcp.method.name": method,
        "network.transport": "pipe" if event.transport in ("stdio", "cli") else "tcp",
        "manga.transport": event.transport,
        "manga.call_id": event.call_id,
        "manga.outcome": event.outcome,
        "manga.degraded": event.degraded,
    }
    if method == "tools/call":
        attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": event.tool}
    elif target is not None:
        attributes["gen_ai.prompt.name"] = target
    if event.outcome != OK:
        attributes["error.type"] = "cancelled" if event.outcome == "cancelled" else "tool_error"
    known: dict[str, Value | None] = {
        "manga.source": event.source,
        "manga.fallback": event.fallback,
        "manga.budget_left_ms": event.budget_left_ms,
        "manga.variant": event.variant,
    }
    return attributes | {name: value for name, value in known.items() if value is not None}


def span_attributes(span: Span, systems: Mapping[str, str]) -> Attributes:
    attributes: Attributes = {} if span.outcome == OK else {"error.type": span.outcome}
    noted = dict(span.attributes)
    if span.kind == "redis":
        attributes |= {"db.system.name": REDIS, "db.operation.name": span.name}
    elif span.kind == "attempt":
        attributes |= {"manga.backend": span.name, "db.operation.name": str(noted.pop("operation", ""))}
        if (system := systems.get(span.name)) is not None:
            attributes["db.system.name"] = system
    return attributes | {f"manga.{name}": value for name, value in noted.items()}


def name_of(span: Span) -> str:
    """Returns the span's name: the operation and its target, of low cardinality as OpenTelemetry requires."""
    if span.kind == "attempt":
        return f"{span.attributes.get('operation', span.kind)} {span.name}"
    if span.kind == "redis":
        return f"{span.name} {REDIS}"
    return f"{span.kind} {span.name}"


SCOPE = InstrumentationScope("manga-tools", VERSION)
SAMPLED = TraceFlags(TraceFlags.SAMPLED)
UNSET = Status(StatusCode.UNSET)


def spans_of(
    event: CallFinished, timeline: Timeline, ended_ns: int, resource: Resource, systems: Mapping[str, str]
) -> Iterator[ReadableSpan]:
    """Yields the call's span, then its descendants. `ended_ns` is the call's end in epoch nanoseconds. `systems` has the
    database of each remote backend; spans of these backends and of Redis are CLIENT spans."""
    over = timeline.call.ended or 0.0

    def context(span_id: int, *, remote: bool = False) -> SpanContext:
        return SpanContext(timeline.trace_id, span_id, remote, SAMPLED)

    def nanoseconds(moment: float) -> int:
        return ended_ns - max(0, round((over - moment) * 1e9))

    def make(
        name: str, span: Span, parent: SpanContext | None, outcome: str, attributes: Attributes, **how: Any
    ) -> ReadableSpan:
        return ReadableSpan(
            name,
            context(span.span_id),
            parent,
            resource,
            attributes,
            status=UNSET if outcome in (OK, CANCELLED) else Status(StatusCode.ERROR, outcome),
            start_time=nanoseconds(span.started),
            end_time=nanoseconds(span.ended or over),
            instrumentation_scope=SCOPE,
            **how,
        )

    method, target = method_and_target(event.tool)
    name, attributes = f"{method} {target}" if target else method, call_attributes(event)
    if timeline.more:
        attributes["manga.more_intervals"] = timeline.more
    caller = None if timeline.parent_id is None else context(timeline.parent_id, remote=True)
    yield make(name, timeline.call, caller, event.outcome, attributes, kind=SpanKind.SERVER)
    for span in timeline.spans:
        around = timeline.call if span.parent is None else timeline.spans[span.parent]
        asked = span.kind == "redis" or (span.kind == "attempt" and span.name in systems)
        joined = TraceContext.read(str(span.attributes.get("joined", "")))
        links = () if joined is None else (Link(SpanContext(joined.trace_id, joined.span_id, True, SAMPLED)),)
        kind = SpanKind.CLIENT if asked else SpanKind.INTERNAL
        own = span_attributes(span, systems)
        yield make(name_of(span), span, context(around.span_id), span.outcome, own, kind=kind, links=links)


logger = logging.getLogger(__name__)
EXPORT_SECONDS = 5.0
"""Timeout for the export of a batch, including retries."""
CLOSE_SECONDS = 2.0
"""Timeout for exporting the last spans at shutdown."""


class Collector(requests.Session):
    """The exporter's HTTP session. `why` is the last problem, without address or secret. Only the first 4 KB of a response
    are read, so that the connection can be reused."""

    why = "it does not take them"

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:
        """Sends a request and returns the response. Raises `requests.RequestException` or urllib3's `HTTPError`. A redirect
        is an error too, since the exporter would count it as a success."""
        try:
            response = super().request(*args, **{**kwargs, "stream": True})
            with response:
                response.raw.read1(4096)  # bytes
        except (requests.RequestException, HTTPError) as error:
            problem = network_problem(error, "OTEL_EXPORTER_OTLP_ENDPOINT")
            self.why = f"{problem.what}; {problem.remedy}" if problem else "no answer in time"
            raise
        if response.status_code >= 300:
            self.why = f"it answers HTTP {response.status_code}"
        if 300 <= response.status_code < 400:
            raise requests.TooManyRedirects(self.why)
        return response


class LoggedExporter(OTLPSpanExporter):
    """An OTLP exporter that logs the start and the end of an outage of the collector, once each."""

    def __init__(self, endpoint: str) -> None:
        self._collector = Collector()
        self._outage = Outage(logger, "the collector of traces")
        super().__init__(endpoint, timeout=EXPORT_SECONDS, session=self._collector)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        if result is SpanExportResult.SUCCESS:
            self._outage.record_recovery()
        else:
            self._outage.record_failure(self._collector.why)
        return result


def open_batches(endpoint: str, most_waiting: int) -> BatchSpanProcessor:
    # Silences the exporter, which would log each failure with the collector's address.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    return BatchSpanProcessor(LoggedExporter(endpoint), max_queue_size=most_waiting)


async def close_batches(batches: BatchSpanProcessor) -> None:
    """Exports the last spans within `CLOSE_SECONDS`. A daemon thread may remain if the collector hangs."""
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.wrap_future(run_on_thread(batches.shutdown, "end of the traces")), CLOSE_SECONDS)
