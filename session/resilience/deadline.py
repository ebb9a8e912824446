"""Deadlines, retries, and the spans of a traced call."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal

from session.resilience.clocks import Clock

MOST_SPANS = 128
OK, CANCELLED, UNFINISHED, TIMED_OUT = "ok", "cancelled", "unfinished", "TIMEOUT"
CLOCK_SECONDS = 0.001
"""Seconds by which a timer of the event loop may fire early."""
Kind = Literal["call", "stage", "attempt", "redis", "work"]
Detail = str | int | float | bool


@dataclass(slots=True, eq=False)
class Span:
    """One timed step of a call, in seconds of the timeline's clock; `ended` is None while it runs. `number`: index in the
    timeline, -1 for the call's own span. `parent`: the parent's number, None for the call's own span and its children.
    `outcome`: "ok", a failure's name, "cancelled" ("TIMEOUT" at the call's deadline), or "unfinished" if the span runs or
    outlived the call. Spans that `begin` does not keep have their parent's `number`."""

    timeline: Timeline = field(repr=False)
    kind: Kind
    name: str
    number: int
    parent: int | None
    span_id: int
    started: float
    ended: float | None = None
    outcome: str = UNFINISHED
    attributes: dict[str, Detail] = field(default_factory=dict)

    def begin(self, kind: Kind, name: str, **attributes: Detail) -> Span:
        """Starts and returns a child span. As a context manager, the span ends with the block, and an exception sets its
        outcome. Beyond `MOST_SPANS`, or after the call, the span is not kept; it then has its parent's id, so that
        `traceparent` names a span of the exported trace."""
        timeline, parent = self.timeline, self.number if self.number >= 0 else None
        if timeline.is_closed or len(timeline.spans) >= MOST_SPANS:
            timeline.more += not timeline.is_closed
            return Span(timeline, kind, name, self.number, parent, self.span_id, timeline.clock(), None, OK, attributes)
        number = len(timeline.spans)
        began = Span(timeline, kind, name, number, parent, _draw_id(64), timeline.clock(), attributes=attributes)
        timeline.spans.append(began)
        return began

    def end(self, outcome: str = OK) -> None:
        """Ends the span with an outcome. Calls after the first have no effect."""
        if self.ended is None:
            self.ended, self.outcome = self.timeline.clock(), outcome

    @property
    def traceparent(self) -> str | None:
        """W3C traceparent header for backend requests in the span; None if the call is not sampled or has ended."""
        if not self.timeline.sampled or self.timeline.is_closed:
            return None
        return f"00-{self.timeline.trace_id:032x}-{self.span_id:016x}-01"

    def __enter__(self) -> Span:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        outcome, deadline = OK if kind is None else outcome_of(kind), self.timeline.deadline
        if outcome == CANCELLED and deadline is not None:
            outcome = TIMED_OUT if self.started < deadline - CLOCK_SECONDS <= self.timeline.clock() else outcome
        self.end(outcome)


class Timeline:
    """Spans of one call, in the order of their start. Keeps at most `MOST_SPANS`; `more` counts the spans beyond. If
    `sampled`, the spans are exported as a trace, below the caller's span `parent_id` if that is given."""

    def __init__(
        self,
        clock: Clock,
        name: str,
        started: float,
        *,
        trace_id: int | None = None,
        parent_id: int | None = None,
        sampled: bool = False,
    ) -> None:
        self.clock = clock
        self.trace_id = trace_id or _draw_id(128)
        self.parent_id = parent_id
        self.sampled = sampled
        self.call = Span(self, "call", name, -1, None, _draw_id(64), started)
        self.spans: list[Span] = []
        self.more = 0
        self.deadline: float | None = None
        """In seconds of `clock`. A span that began before the call's deadline, and is cancelled when the deadline has come,
        has the outcome TIMEOUT."""

    @property
    def is_closed(self) -> bool:
        return self.call.ended is not None

    def close(self, outcome: str) -> None:
        """Ends the call's span with `outcome`, and all other open spans as unfinished. Later spans are not kept."""
        self.call.end(outcome)
        for each in self.spans:
            each.end(UNFINISHED)


def outcome_of(kind: type[BaseException]) -> str:
    """Returns the outcome for an exception: "cancelled", the `name` of a failure's class, or another class's own name."""
    if issubclass(kind, asyncio.CancelledError):
        return CANCELLED
    name = getattr(kind, "name", None)
    return name if isinstance(name, str) else kind.__name__


def _draw_id(bits: int) -> int:
    return random.getrandbits(bits) or 1


@dataclass(frozen=True, slots=True)
class Deadline:
    """Absolute time `at`, in seconds of the monotonic `clock`. A deadline is passed down a call and only ever made earlier.
    `span`: parent for spans of work under this deadline; None if the call is not traced."""

    at: float
    clock: Clock = field(default=time.monotonic, compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def traceparent(self) -> str | None:
        """W3C traceparent header for backend requests under this deadline; None if the call is not sampled or has ended."""
        return None if self.span is None else self.span.traceparent

    @classmethod
    def after(cls, seconds: float, clock: Clock = time.monotonic) -> Deadline:
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Returns the seconds left, never negative."""
        return max(0.0, self.at - self.clock())

    def expired(self) -> bool:
        return self.clock() >= self.at

    def within(self, seconds: float) -> Deadline:
        """Returns the earlier of this deadline and `seconds` from now."""
        return Deadline(min(self.at, self.clock() + seconds), self.clock, self.span)

    def earlier_by(self, seconds: float) -> Deadline:
        return Deadline(self.at - seconds, self.clock, self.span)

    def in_span(self, span: Span | None) -> Deadline:
        return self if span is self.span else Deadline(self.at, self.clock, span)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `attempts` tries, with full jitter (Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015).
    The pause after the n-th try is random from 0 to `base * 2**n` seconds, at most `longest`."""

    attempts: int = 2
    base: float = 0.02
    longest: float = 0.2
    draw: Callable[[], float] = random.random

    def pause(self, attempt: int) -> float:
        """Returns the seconds to wait after attempt number `attempt`, counted from 1."""
        return self.draw() * min(self.longest, self.base * 2.0**attempt)


class RetryBudget:
    """Limits retries to a share of the calls, to spare a failing backend (Google SRE Book, ch. 21, "Handling Overload").
    Each call earns `share` of a retry, and each retry spends a whole one. At most `most` unspent retries are kept."""

    def __init__(self, share: float = 0.1, most: float = 10.0) -> None:
        self._share = share
        self._most = most
        self._tokens = most

    def earn(self) -> None:
        self._tokens = min(self._most, self._tokens + self._share)

    def spend(self) -> bool:
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
