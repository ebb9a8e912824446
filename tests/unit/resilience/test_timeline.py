"""The timeline of a call records its spans."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.failures import MemoryCircuitOpen, MemoryUnavailable
from session.resilience.deadline import MOST_SPANS, Deadline, Timeline, outcome_of
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tools.store.failures import TimedOut


def test_nested_spans_record_their_start_end_and_outcome() -> None:
    clock = HandClock(10.0)
    timeline = Timeline(clock, "a_tool", 9.0)
    with timeline.call.begin("stage", "cache") as outer:
        clock.advance(1)
        with outer.begin("attempt", "catalog", attempt=1) as inner:
            clock.advance(2)
        clock.advance(1)
    timeline.close("ok")
    assert timeline.spans == [outer, inner]
    assert [(each.number, each.parent, each.started, each.ended) for each in (timeline.call, outer, inner)] == [
        (-1, None, 9.0, 14.0),
        (0, None, 10.0, 14.0),
        (1, 0, 11.0, 13.0),
    ]
    assert (inner.kind, inner.name, inner.outcome, inner.attributes) == ("attempt", "catalog", "ok", {"attempt": 1})
    assert len({each.span_id for each in (timeline.call, outer, inner)}) == 3


@cases(
    ("error", "outcome"),
    [
        (TimedOut("late"), "TIMEOUT"),
        (MemoryUnavailable("away"), "DEPENDENCY_FAILURE"),
        (MemoryCircuitOpen("away"), "CIRCUIT_OPEN"),
        (asyncio.CancelledError(), "cancelled"),
        (AttributeError("secret", name="secret"), "AttributeError"),
    ],
)
def test_outcome_of_a_span_is_the_failure_name_without_the_error_text(error: BaseException, outcome: str) -> None:
    timeline = Timeline(HandClock(), "a_tool", 0.0)
    with pytest.raises(type(error)), timeline.call.begin("work", "it") as span:
        raise error
    assert span.outcome == outcome == outcome_of(type(error))


@cases(
    ("began", "ended", "outcome"),
    [
        (0.0, 4.9985, "cancelled"),
        (0.0, 5.0 - 0.001, "TIMEOUT"),
        (0.0, 6.0, "TIMEOUT"),
        (4.999, 5.0, "cancelled"),
        (4.998, 5.0, "TIMEOUT"),
    ],
)
def test_span_cancelled_at_the_deadline_of_its_call_has_timed_out(began: float, ended: float, outcome: str) -> None:
    """A timer may fire a millisecond early. What began no sooner than that was cancelled by somebody else."""
    clock = HandClock(began)
    timeline = Timeline(clock, "a_tool", 0.0)
    timeline.deadline = 5.0
    with pytest.raises(asyncio.CancelledError), timeline.call.begin("work", "it") as span:
        clock.now = ended
        raise asyncio.CancelledError
    assert span.outcome == outcome


def test_only_the_first_end_of_a_span_counts() -> None:
    clock = HandClock(0.0)
    with Timeline(clock, "a_tool", 0.0).call.begin("stage", "guard") as span:
        span.end("TIMEOUT")
        clock.advance(1)
    assert (span.outcome, span.ended) == ("TIMEOUT", 0.0)


def test_closed_timeline_ignores_spans_that_go_on() -> None:
    timeline = Timeline(HandClock(5.0), "a_tool", 5.0, sampled=True)
    with timeline.call.begin("attempt", "stock") as span:
        timeline.close("cancelled")
        late = span.begin("attempt", "stock")
    assert (span.outcome, span.ended, timeline.call.outcome) == ("unfinished", 5.0, "cancelled")
    assert (timeline.spans, timeline.more, late.traceparent, span.traceparent) == ([span], 0, None, None)


def test_timeline_keeps_a_bounded_number_of_spans_and_counts_the_rest() -> None:
    timeline = Timeline(HandClock(), "a_tool", 0.0, sampled=True)
    made = [timeline.call.begin("attempt", "stock") for _ in range(MOST_SPANS)]
    beyond = made[0].begin("work", "more")
    further = beyond.begin("attempt", "stock")
    assert (timeline.spans, timeline.more) == (made, 2)
    assert further.traceparent == beyond.traceparent == made[0].traceparent, "a backend hears of a span that will be found"


def test_span_of_a_sampled_call_has_a_traceparent_for_the_backend() -> None:
    sampled = Timeline(HandClock(), "a_tool", 0.0, trace_id=0xABC, parent_id=7, sampled=True)
    span = sampled.call.begin("attempt", "catalog")
    assert span.traceparent == f"00-{0xABC:032x}-{span.span_id:016x}-01"
    assert Timeline(HandClock(), "a_tool", 0.0, trace_id=0xABC).call.traceparent is None


@given(st.floats(0, 100), st.floats(0, 100))
def test_derived_deadline_keeps_its_span(first: float, second: float) -> None:
    clock = HandClock()
    span = Timeline(clock, "a_tool", 0.0).call
    deadline = Deadline.after(first, clock).in_span(span)
    made = (deadline, deadline.within(second), deadline.earlier_by(second))
    assert [each.span for each in made] == [span] * 3
    assert deadline.in_span(span) is deadline
    assert deadline.in_span(None) == deadline
    assert (repr(deadline), "timeline" in repr(span)) == (f"Deadline(at={deadline.at!r})", False)
