"""The event of a finished call, and its receivers: sinks, observers and temporary listeners."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from server.call import Call
from session.resilience.deadline import Timeline

TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")


@dataclass(frozen=True, slots=True)
class TraceContext:
    """The ids of a caller's `traceparent` header. `sampled` is the caller's sampling decision."""

    trace_id: int
    span_id: int
    sampled: bool

    @classmethod
    def read(cls, traceparent: str | None) -> TraceContext | None:
        """Parses a `traceparent` header. Returns None if it is missing or malformed."""
        found = TRACEPARENT.fullmatch(traceparent) if traceparent is not None else None
        if found is None:
            return None
        return cls(int(found[1], 16), int(found[2], 16), bool(int(found[3], 16) & 1))


@dataclass(frozen=True, slots=True)
class CallFinished:
    """The event of a finished call. Its only personal data is the user's hash in `user`, and `audited`.

    `outcome` is "ok", a failure's name, or "cancelled"; `source` is None unless `outcome` is "ok". `budget_left_ms` is None
    if the turn was not read. `arguments` are those on the tool's allowlist. `audited` are those for the audit alone, None if
    no audit line is due. `violations` are pairs (path, rule). `empty` is True for a search without results. `variant` is
    that of the flag's `Decision`, None if the call was refused before the flag was evaluated. `timeline` has the call's
    spans, None unless an observer wanted the call."""

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
    """True if the turn had no time left when the call began."""
    over_between: bool = False
    """True if `turn_over`, but the turn would have had time left without the time between its calls."""

    @property
    def trace(self) -> dict[str, str]:
        """The ids of the call's trace: those of its own span if sampled, else the caller's trace id; empty without."""
        if self.timeline is not None and self.timeline.sampled:
            return {"trace_id": f"{self.timeline.trace_id:032x}", "span_id": f"{self.timeline.call.span_id:016x}"}
        caller = TraceContext.read(self.traceparent)
        return {} if caller is None else {"trace_id": f"{caller.trace_id:032x}"}


Sink = Callable[[CallFinished], None]
"""Receives every event. Must return at once and not raise."""


class Observer(Protocol):
    """Chooses the calls whose spans are recorded. Must return at once and not raise. If `traces` is True, a chosen call is
    sampled for tracing: requests to backends carry a `traceparent` header."""

    traces: bool

    def wants(self, call: Call) -> bool: ...


class Listener(Protocol):
    def __call__(self, event: CallFinished) -> None: ...

    def wants(self, call: Call) -> bool: ...


class Listeners:
    """A sink and observer that forwards to the registered listeners. It does not sample calls for tracing."""

    traces = False

    def __init__(self) -> None:
        self._listening: tuple[Listener, ...] = ()

    def __call__(self, event: CallFinished) -> None:
        for listener in self._listening:
            listener(event)

    def wants(self, call: Call) -> bool:
        """True if any listener wants the call. Asks all listeners, since each may count the calls that it wants."""
        return sum(listener.wants(call) for listener in self._listening) > 0

    def begin(self, listener: Listener) -> None:
        self._listening = (*self._listening, listener)

    def end(self, listener: Listener) -> None:
        self._listening = tuple(each for each in self._listening if each is not listener)
