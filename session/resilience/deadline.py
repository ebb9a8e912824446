"""A point in time by which something must be over."""

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
"""By which a loop's timer may be early."""
Kind = Literal["call", "stage", "attempt", "redis", "work"]
Detail = str | int | float | bool


@dataclass(slots=True, eq=False)
class Span:
    """One thing that a call did, from `started` to `ended`, in seconds of the call's clock. `number` is its place in the
    timeline and `parent` that of what it was done in; the call itself, which is in no list, has -1, and its children None.
    `outcome` is "ok", the name of a failure, or "cancelled", which at the call's deadline is "TIMEOUT"; "unfinished" for
    what went on when the call was over. `span_id` is drawn when it begins: it travels to whoever is asked meanwhile."""

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
        """What is done within this one, from now on; it ends with the block that it is entered for, by what that raises."""
        return self.timeline.begin(self, kind, name, attributes)

    def end(self, outcome: str = OK) -> None:
        """Only the first end counts."""
        if self.ended is None:
            self.ended, self.outcome = self.timeline.clock(), outcome

    @property
    def traceparent(self) -> str | None:
        """What a backend that is asked meanwhile is told (W3C Trace Context); None where no trace is kept."""
        if not self.timeline.sampled or self.timeline.closed:
            return None
        return f"00-{self.timeline.trace_id:032x}-{self.span_id:016x}-01"

    def __enter__(self) -> Span:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        outcome = OK if kind is None else outcome_of(kind)
        self.end(TIMED_OUT if outcome == CANCELLED and self.timeline.cut(self) else outcome)


class Timeline:
    """At most `MOST_SPANS`, in the order in which they began; `more` tells how many there were besides. `sampled` tells
    whether it becomes part of a trace, and `parent_id` names the caller's own span there, if there is one."""

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
        self.trace_id = trace_id or _drawn(128)
        self.parent_id = parent_id
        self.sampled = sampled
        self.call = Span(self, "call", name, -1, None, _drawn(64), started)
        self.spans: list[Span] = []
        self.more = 0
        self.deadline: float | None = None
        """Of the call: its work is cancelled then, which is nobody's giving up."""

    @property
    def closed(self) -> bool:
        return self.call.ended is not None

    def begin(self, within: Span, kind: Kind, name: str, attributes: dict[str, Detail]) -> Span:
        """What is not kept goes by the name of what it is in, so that nobody is told of a span that nobody will find."""
        parent = within.number if within.number >= 0 else None
        if self.closed or len(self.spans) >= MOST_SPANS:
            self.more += not self.closed
            return Span(self, kind, name, within.number, parent, within.span_id, self.clock(), None, OK, attributes)
        began = Span(self, kind, name, len(self.spans), parent, _drawn(64), self.clock(), attributes=attributes)
        self.spans.append(began)
        return began

    def cut(self, span: Span) -> bool:
        """Whether what is cancelled now had gone on when the call's time was over."""
        latest = None if self.deadline is None else self.deadline - CLOCK_SECONDS
        return latest is not None and span.started < latest <= self.clock()

    def close(self, outcome: str) -> None:
        """The call is over: from here on nothing changes, whatever still goes on."""
        self.call.end(outcome)
        for each in self.spans:
            each.end(UNFINISHED)


def outcome_of(kind: type[BaseException]) -> str:
    """The name of a failure, as its class states it; of another error, its class's own."""
    if issubclass(kind, asyncio.CancelledError):
        return CANCELLED
    name = getattr(kind, "name", None)
    return name if isinstance(name, str) else kind.__name__


def _drawn(bits: int) -> int:
    """Ids of W3C Trace Context: any but zero."""
    return random.getrandbits(bits) or 1


@dataclass(frozen=True, slots=True)
class Deadline:
    """An absolute instant on the monotonic clock. It travels with a call, and whoever passes it on may only shorten it.

    `at` is in seconds of `clock`, which is `time.monotonic` everywhere but in tests. `span` is what is done until then,
    where somebody watches: whoever is given the deadline notes there what it does itself.
    """

    at: float
    clock: Clock = field(default=time.monotonic, compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def traceparent(self) -> str | None:
        """What whoever is asked until then is told of the trace; None where there is none."""
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
        """The earlier of the two, for what this one is for."""
        return self if self.at <= other.at else other.in_span(self.span)

    def less(self, seconds: float) -> Deadline:
        """This deadline, `seconds` earlier: what is kept back for a later step."""
        return Deadline(self.at - seconds, self.clock, self.span)

    def in_span(self, span: Span | None) -> Deadline:
        """The same instant, for what is done within `span`."""
        return self if span is self.span else Deadline(self.at, self.clock, span)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `attempts` in all, the n-th after a pause drawn evenly from 0 to `base * 2**n` seconds, at most `longest`:
    "full jitter" (Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015)."""

    attempts: int = 2
    base: float = 0.02
    longest: float = 0.2


class RetryBudget:
    """Lets retries be a share of the calls, so that a backend in trouble is not asked twice as much as a healthy one
    (Google SRE Book, ch. 21, "Handling Overload")."""

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


class Backoff:
    """The pauses of a policy, each drawn anew."""

    def __init__(self, policy: RetryPolicy, draw: Callable[[], float] = random.random) -> None:
        self._policy = policy
        self._draw = draw

    def pause(self, attempt: int) -> float:
        """Seconds to wait before attempt number `attempt` + 1 (the first attempt is number 1)."""
        return self._draw() * min(self._policy.longest, self._policy.base * 2.0**attempt)
