"""Deadlines, retries, and the spans that observed calls record."""

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
"""The most by which a loop's timer is early."""
Kind = Literal["call", "stage", "attempt", "redis", "work"]
Detail = str | int | float | bool


@dataclass(slots=True, eq=False)
class Span:
    """One thing that a call did, from `started` to `ended` in seconds of the call's clock. `number` is its index in the
    timeline and `parent` that of the span around it; the call's own span has -1, and its children None. `outcome` is "ok", a
    failure's name, "cancelled" (at the call's deadline "TIMEOUT"), or "unfinished" for work that outlived the call."""

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
        """Starts a span within this one; as a context manager it ends with the block, with the outcome of its exception."""
        return self.timeline.begin(self, kind, name, attributes)

    def end(self, outcome: str = OK) -> None:
        """Ends the span with an outcome; only the first end counts."""
        if self.ended is None:
            self.ended, self.outcome = self.timeline.clock(), outcome

    @property
    def traceparent(self) -> str | None:
        """The header for backends called within the span (W3C Trace Context); None where it is not sampled."""
        if not self.timeline.sampled or self.timeline.is_closed:
            return None
        return f"00-{self.timeline.trace_id:032x}-{self.span_id:016x}-01"

    def __enter__(self) -> Span:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        outcome = OK if kind is None else outcome_of(kind)
        self.end(TIMED_OUT if outcome == CANCELLED and self.timeline.cut(self) else outcome)


class Timeline:
    """The spans of one call, at most `MOST_SPANS`, in the order in which they began; `more` counts the others. `sampled`:
    they are exported as a trace, under the caller's span `parent_id` where there is one."""

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
        """The call's: work cancelled then has timed out."""

    @property
    def is_closed(self) -> bool:
        return self.call.ended is not None

    def begin(self, within: Span, kind: Kind, name: str, attributes: dict[str, Detail]) -> Span:
        """A span that is not kept has the id of the one around it, so that backends never see an id that is in no trace."""
        parent = within.number if within.number >= 0 else None
        if self.is_closed or len(self.spans) >= MOST_SPANS:
            self.more += not self.is_closed
            return Span(self, kind, name, within.number, parent, within.span_id, self.clock(), None, OK, attributes)
        began = Span(self, kind, name, len(self.spans), parent, _draw_id(64), self.clock(), attributes=attributes)
        self.spans.append(began)
        return began

    def cut(self, span: Span) -> bool:
        """True if the span was still running at the call's deadline."""
        latest = None if self.deadline is None else self.deadline - CLOCK_SECONDS
        return latest is not None and span.started < latest <= self.clock()

    def close(self, outcome: str) -> None:
        """Ends the call's span and all that are open; later changes are ignored."""
        self.call.end(outcome)
        for each in self.spans:
            each.end(UNFINISHED)


def outcome_of(kind: type[BaseException]) -> str:
    """A failure's wire name, else the exception's class name."""
    if issubclass(kind, asyncio.CancelledError):
        return CANCELLED
    name = getattr(kind, "name", None)
    return name if isinstance(name, str) else kind.__name__


def _draw_id(bits: int) -> int:
    """A random id of W3C Trace Context: not zero."""
    return random.getrandbits(bits) or 1


@dataclass(frozen=True, slots=True)
class Deadline:
    """An absolute instant on the monotonic clock, passed down a call and only ever shortened. `at` is in seconds of `clock`.
    `span` is the current span where the call is observed: spans of the work until then belong to it."""

    at: float
    clock: Clock = field(default=time.monotonic, compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def traceparent(self) -> str | None:
        """The header for backends; None where the call is not sampled."""
        return None if self.span is None else self.span.traceparent

    @classmethod
    def after(cls, seconds: float, clock: Clock = time.monotonic) -> Deadline:
        """The instant `seconds` from now."""
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - self.clock())

    def expired(self) -> bool:
        return self.clock() >= self.at

    def within(self, seconds: float) -> Deadline:
        """The earlier of this deadline and the instant `seconds` from now."""
        return Deadline(min(self.at, self.clock() + seconds), self.clock, self.span)

    def sooner_of(self, other: Deadline) -> Deadline:
        """The earlier of the two, with this one's span."""
        return self if self.at <= other.at else other.in_span(self.span)

    def less(self, seconds: float) -> Deadline:
        """This deadline, `seconds` earlier, which are kept for a later step."""
        return Deadline(self.at - seconds, self.clock, self.span)

    def in_span(self, span: Span | None) -> Deadline:
        """This deadline, for work within `span`."""
        return self if span is self.span else Deadline(self.at, self.clock, span)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `attempts` in all, the n-th after a pause drawn evenly from 0 to `base * 2**n` seconds, at most `longest`:
    "full jitter" (Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015)."""

    attempts: int = 2
    base: float = 0.02
    longest: float = 0.2
    draw: Callable[[], float] = random.random

    def pause(self, attempt: int) -> float:
        """Seconds to wait after attempt number `attempt`; the first attempt is number 1."""
        return self.draw() * min(self.longest, self.base * 2.0**attempt)


class RetryBudget:
    """Limits retries to a share of the calls, so that a backend in trouble gets no double load (Google SRE Book, ch. 21,
    "Handling Overload")."""

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
