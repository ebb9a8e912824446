"""A finished call as spans: its own, under the caller's, and one for each thing that it did.

The ids are those of the timeline, because backends were told them while the call went on; so the spans are made here, as a
collector gets them, and not by a tracer, which would draw its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from server.telemetry.events import CallFinished
from server.telemetry.trace_context import TraceContext
from server.tracing.attributes import method_and_target, name_of, of_call, of_interval
from server.version import VERSION
from session.resilience.timeline import CANCELLED, OK, Interval, Timeline

SCOPE = InstrumentationScope("manga-tools", VERSION)
SAMPLED = TraceFlags(TraceFlags.SAMPLED)
UNSET = Status(StatusCode.UNSET)


class SpansOf:
    """`systems` are the databases behind the backends, by the backend's name: what this process asks itself is no client."""

    def __init__(self, resource: Resource, systems: Mapping[str, str]) -> None:
        self._resource = resource
        self._systems = systems

    def __call__(self, event: CallFinished, timeline: Timeline, ended_ns: int) -> Iterator[ReadableSpan]:
        """`ended_ns` is when the call was over, by the wall clock, in nanoseconds since the epoch."""
        over = timeline.call.ended or 0.0
        yield self._of_call(event, timeline, ended_ns, over)
        for interval in timeline.intervals:
            yield self._of_interval(interval, timeline, ended_ns, over)

    def _of_call(self, event: CallFinished, timeline: Timeline, ended_ns: int, over: float) -> ReadableSpan:
        method, target = method_and_target(event.tool)
        attributes = of_call(event)
        if timeline.more:
            attributes["manga.more_intervals"] = timeline.more
        parent = timeline.parent_id
        return ReadableSpan(
            f"{method} {target}" if target else method,
            _context(timeline, timeline.call.span_id),
            None if parent is None else _context(timeline, parent, remote=True),
            self._resource,
            attributes,
            kind=SpanKind.SERVER,
            status=_status(event.outcome),
            start_time=_nanoseconds(timeline.call.started, ended_ns, over),
            end_time=ended_ns,
            instrumentation_scope=SCOPE,
        )

    def _of_interval(self, interval: Interval, timeline: Timeline, ended_ns: int, over: float) -> ReadableSpan:
        around = timeline.call if interval.parent is None else timeline.intervals[interval.parent]
        asked = interval.kind == "redis" or (interval.kind == "attempt" and interval.name in self._systems)
        joined = TraceContext.read(str(interval.attributes.get("joined", "")))
        return ReadableSpan(
            name_of(interval),
            _context(timeline, interval.span_id),
            _context(timeline, around.span_id),
            self._resource,
            of_interval(interval, self._systems),
            links=() if joined is None else (Link(SpanContext(joined.trace_id, joined.span_id, True, SAMPLED)),),
            kind=SpanKind.CLIENT if asked else SpanKind.INTERNAL,
            status=_status(interval.outcome),
            start_time=_nanoseconds(interval.started, ended_ns, over),
            end_time=_nanoseconds(interval.ended or over, ended_ns, over),
            instrumentation_scope=SCOPE,
        )


def _context(timeline: Timeline, span_id: int, *, remote: bool = False) -> SpanContext:
    return SpanContext(timeline.trace_id, span_id, remote, SAMPLED)


def _nanoseconds(moment: float, ended_ns: int, over: float) -> int:
    return ended_ns - max(0, round((over - moment) * 1e9))


def _status(outcome: str) -> Status:
    """What its caller gave up is no error."""
    return UNSET if outcome in (OK, CANCELLED) else Status(StatusCode.ERROR, outcome)
