"""The event that ends each call, and who receives it: sinks, observers and temporary listeners."""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass
from typing import Protocol

from server.call import Call
from session.resilience.clocks import Clock
from session.resilience.deadline import Timeline

TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")


@dataclass(frozen=True, slots=True)
class TraceContext:
    """`sampled` is what the caller has decided for itself, and suggests."""

    trace_id: int
    span_id: int
    sampled: bool

    @classmethod
    def read(cls, traceparent: str | None) -> TraceContext | None:
        """None where there is none, or a malformed one."""
        found = TRACEPARENT.fullmatch(traceparent) if traceparent is not None else None
        if found is None:
            return None
        return cls(int(found[1], 16), int(found[2], 16), bool(int(found[3], 16) & 1))


@dataclass(frozen=True, slots=True)
class CallFinished:
    """`outcome` is "ok", a failure's name, or "cancelled". `budget_left_ms` is None where no turn was read.
    `arguments` holds only what the tool's allowlist lets through, `audited` what the audit alone
    may show (None: the call leaves no line there), `violations` the path and rule of each that arguments broke,
    `empty` tells of a search that found nothing, `variant` of the flag (None: refused before anybody looked);
    `timeline` is that of a call that an observer wanted, closed."""

    call_id: str
    tool: str
    outcome: str
    source: str | None
    fallback: str | None
    milliseconds: float
    budget_left_ms: int | None
    degraded: tuple[str, ...]
    transport: str
    user: str
    traceparent: str | None
    arguments: dict[str, object]
    agent: str | None = None
    audited: dict[str, object] | None = None
    empty: bool = False
    variant: str | None = None
    violations: tuple[tuple[str, str], ...] = ()
    timeline: Timeline | None = None
    turn_over: bool = False
    """Its turn had no time left when it began."""
    over_between: bool = False
    """And would have had some without the time between its calls."""

    @property
    def trace(self) -> dict[str, str]:
        """The ids by which a call is found in a trace: its own span's where it has one, else its caller's trace alone."""
        if self.timeline is not None and self.timeline.sampled:
            return {"trace_id": f"{self.timeline.trace_id:032x}", "span_id": f"{self.timeline.call.span_id:016x}"}
        caller = TraceContext.read(self.traceparent)
        return {} if caller is None else {"trace_id": f"{caller.trace_id:032x}"}


class Sink(Protocol):
    """Takes an event at once, without waiting and without raising."""

    def __call__(self, event: CallFinished) -> None: ...


class Observer(Protocol):
    """Says of some calls that they are to be seen in detail, at once and without raising. What one wants that `traces`
    becomes part of a trace: backends are told of it."""

    @property
    def traces(self) -> bool: ...

    def wants(self, call: Call) -> bool: ...


logger = logging.getLogger("manga.turns")
SECONDS = 60.0
BETWEEN = (
    "The time between calls, in which the model thinks, uses turns up: raise MANGA_TURN_BUDGET_MS, or set "
    "MANGA_TURN_CLOCK=tools, which counts the time inside calls alone."
)


class TurnsOver:
    """A sink. The first such call leaves a line at once, those after it one a minute together."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._told_at = float("-inf")
        self._between, self._inside = 0, 0

    def __call__(self, event: CallFinished) -> None:
        if not event.turn_over:
            return
        if event.over_between:
            self._between += 1
        else:
            self._inside += 1
        if self._between and self._clock() - self._told_at >= SECONDS:
            self._tell()

    def _tell(self) -> None:
        words = "%d calls began when their turn was over by the time between calls, %d by that inside them. %s"
        logger.warning(words, self._between, self._inside, BETWEEN)
        self._told_at, self._between, self._inside = self._clock(), 0, 0


class Listener(Protocol):
    """A sink, and an observer of the calls that it wants to see in detail."""

    def __call__(self, event: CallFinished) -> None: ...

    def wants(self, call: Call) -> bool: ...


class Listeners:
    """A sink and an observer among the others, which passes on what those who listen want. Without any it costs a comparison
    a call. What they see becomes part of no trace by it."""

    traces = False

    def __init__(self) -> None:
        self._listening: tuple[Listener, ...] = ()

    def __len__(self) -> int:
        return len(self._listening)

    def __call__(self, event: CallFinished) -> None:
        for listener in self._listening:
            listener(event)

    def wants(self, call: Call) -> bool:
        """Asks each: they count what they see."""
        wanted = False
        for listener in self._listening:
            wanted |= listener.wants(call)
        return wanted

    def begin(self, listener: Listener) -> None:
        self._listening = (*self._listening, listener)

    def end(self, listener: Listener) -> None:
        self._listening = tuple(each for each in self._listening if each is not listener)
