"""What is told of a call. Nothing in it is personal but the user's hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from server.call import Call
from server.telemetry.trace_context import TraceContext
from session.resilience.timeline import Timeline


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
