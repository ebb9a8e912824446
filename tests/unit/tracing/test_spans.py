"""A call becomes spans: their parents, their times and their attributes."""

from __future__ import annotations

from dataclasses import replace

from opentelemetry.trace import SpanKind, StatusCode

from server.telemetry.events import CallFinished
from session.resilience.deadline import Timeline
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.traces import ENDED, spans_of

EVENT = CallFinished(
    "c1", "search_manga_catalog", "ok", "live", None, 30.0, 2000, ("stock",), "sse", "anonymous", None, {}, variant="on"
)
MS = 1_000_000


def timeline() -> Timeline:
    clock = HandClock(10.0)
    made = Timeline(clock, "search_manga_catalog", 10.0, trace_id=0xABC, parent_id=0xDEF, sampled=True)
    with made.call.begin("stage", "cache") as cache, cache.begin("work", "search_manga_catalog") as work:
        clock.advance(0.01)
        with work.begin("attempt", "catalog", operation="search", attempt=1, waited_ms=0.5) as attempt:
            clock.advance(0.01)
            attempt.end("TIMEOUT")
        with work.begin("attempt", "stock", operation="availability", attempt=1):
            pass
        with cache.begin("redis", "begin", steps=3):
            clock.advance(0.01)
    made.close("ok")
    return made


def test_spans_are_nested_with_the_ids_sent_to_the_backends() -> None:
    made = timeline()
    spans = spans_of(replace(EVENT, timeline=made), {"catalog": "opensearch"})
    assert [span.name for span in spans] == [
        "tools/call search_manga_catalog",
        "stage cache",
        "work search_manga_catalog",
        "search catalog",
        "availability stock",
        "begin redis",
    ]
    assert {span.context.trace_id for span in spans} == {0xABC}
    assert [span.context.span_id for span in spans] == [made.call.span_id, *(each.span_id for each in made.spans)]
    parents = [span.parent.span_id if span.parent else None for span in spans]
    ids = [span.context.span_id for span in spans]
    assert parents == [0xDEF, ids[0], ids[1], ids[2], ids[2], ids[1]]
    assert [span.parent.is_remote for span in spans if span.parent] == [True, *[False] * 5]


def test_spans_have_the_start_and_end_times_of_the_timeline() -> None:
    spans = spans_of(replace(EVENT, timeline=timeline()))
    times = [(span.start_time - ENDED, span.end_time - ENDED) for span in spans]  # type: ignore[operator]
    assert times[0] == times[1] == (-30 * MS, 0)
    assert times[3] == (-20 * MS, -10 * MS)


def test_spans_of_backend_requests_are_client_spans_with_the_system_name() -> None:
    spans = {span.name: span for span in spans_of(replace(EVENT, timeline=timeline()), {"catalog": "opensearch"})}
    kinds = {name: span.kind for name, span in spans.items()}
    assert kinds == {
        "tools/call search_manga_catalog": SpanKind.SERVER,
        "stage cache": SpanKind.INTERNAL,
        "work search_manga_catalog": SpanKind.INTERNAL,
        "search catalog": SpanKind.CLIENT,
        "availability stock": SpanKind.INTERNAL,  # embedded: nobody is asked
        "begin redis": SpanKind.CLIENT,
    }
    assert dict(spans["search catalog"].attributes or {}) == {
        "db.system.name": "opensearch",
        "db.operation.name": "search",
        "error.type": "TIMEOUT",
        "manga.backend": "catalog",
        "manga.attempt": 1,
        "manga.waited_ms": 0.5,
    }
    assert spans["search catalog"].status.status_code is StatusCode.ERROR
    assert dict(spans["begin redis"].attributes or {}) == {
        "db.system.name": "redis",
        "db.operation.name": "begin",
        "manga.steps": 3,
    }


def test_call_span_has_the_attributes_of_the_semantic_conventions() -> None:
    made = timeline()
    made.more = 2
    (call, *_) = spans_of(replace(EVENT, timeline=made))
    assert dict(call.attributes or {}) == {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search_manga_catalog",
        "network.transport": "tcp",
        "manga.transport": "sse",
        "manga.call_id": "c1",
        "manga.outcome": "ok",
        "manga.source": "live",
        "manga.degraded": ("stock",),
        "manga.budget_left_ms": 2000,
        "manga.variant": "on",
        "manga.more_intervals": 2,
    }
    assert (call.status.status_code, call.instrumentation_scope and call.instrumentation_scope.name) == (
        StatusCode.UNSET,
        "manga-tools",
    )


@cases(
    ("outcome", "error", "status"),
    [
        ("ok", None, StatusCode.UNSET),
        ("TIMEOUT", "tool_error", StatusCode.ERROR),
        ("cancelled", "cancelled", StatusCode.UNSET),
    ],
)
def test_outcome_of_a_call_sets_error_type_and_status_of_its_span(
    outcome: str, error: str | None, status: StatusCode
) -> None:
    (call, *_) = spans_of(replace(EVENT, outcome=outcome, timeline=timeline()))
    assert ((call.attributes or {}).get("error.type"), call.status.status_code) == (error, status)
    assert call.status.description == (outcome if status is StatusCode.ERROR else None)


@cases(
    ("called", "name", "said"),
    [
        ("resource title", "resources/read", {"mcp.method.name": "resources/read"}),
        ("prompt find_a_gift", "prompts/get find_a_gift", {"gen_ai.prompt.name": "find_a_gift"}),
        ("completion find_a_gift genre", "completion/complete", {"mcp.method.name": "completion/complete"}),
    ],
)
def test_span_of_another_method_is_named_by_the_method(called: str, name: str, said: dict[str, str]) -> None:
    (call, *_) = spans_of(replace(EVENT, tool=called, transport="stdio", timeline=timeline()))
    attributes = dict(call.attributes or {})
    assert call.name == name
    assert said.items() <= attributes.items()
    assert "gen_ai.tool.name" not in attributes
    assert attributes["network.transport"] == "pipe"


def test_call_without_a_parent_is_the_root_of_its_trace() -> None:
    made = Timeline(HandClock(), "check_inventory", 0.0, sampled=True)
    made.close("ok")
    (span,) = spans_of(replace(EVENT, timeline=made))
    assert span.parent is None


def test_call_that_joined_a_single_flight_links_to_the_span_of_its_work() -> None:
    began, joined = timeline(), Timeline(HandClock(), "check_inventory", 0.0, sampled=True)
    flight = Timeline(HandClock(), "a", 0.0, trace_id=0xF, sampled=True).call
    with joined.call.begin("work", "flight", joined=flight.traceparent or ""):
        pass
    joined.close("ok")
    (_, waited) = spans_of(replace(EVENT, timeline=joined))
    (link,) = waited.links
    assert (link.context.trace_id, link.context.span_id, link.context.is_remote) == (0xF, flight.span_id, True)
    assert not [span.links for span in spans_of(replace(EVENT, timeline=began)) if span.links]
