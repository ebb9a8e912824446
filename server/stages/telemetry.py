"""The two outermost stages: `TelemetryStage` reports each call to the sinks; `GuardStage` turns exceptions into outcomes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from server.call import Call, Handler, Outcome
from server.telemetry.audit import AuditLog
from server.telemetry.events import CallFinished, Observer, Sink, TraceContext
from session.keys import user_hash
from session.resilience.deadline import Timeline
from tools.store.failures import DependencyFailure, Failure, InternalFailure, InvalidArguments, NotFound

logger = logging.getLogger(__name__)


def event_of(call: Call, outcome: Outcome | None) -> CallFinished:
    """Builds the event of a finished call; `outcome` is None if the call was cancelled."""
    return CallFinished(
        call_id=call.call_id,
        tool=call.name,
        outcome="cancelled" if outcome is None else outcome.failure.name if outcome.failure else "ok",
        source=outcome.source if outcome and outcome.has_succeeded else None,
        fallback=outcome.fallback if outcome else None,
        milliseconds=call.elapsed_ms(),
        budget_left_ms=call.turn.remaining_ms() if call.turn else None,
        degraded=tuple(sorted(call.degraded)),
        transport=call.transport,
        user=user_hash(call.principal.user),
        traceparent=call.metadata.traceparent,
        arguments=select_remembered(call, outcome),
        agent=call.principal.agent,
        empty=bool(outcome and outcome.value and outcome.value.get("results") == []),
        variant=call.variant,
        violations=_violations(outcome),
        turn_over=bool(call.turn and call.turn.exhausted),
        over_between=bool(call.turn and call.turn.over_between),
        audited=_shown_arguments(call, call.tool.tool.audited) if call.tool.tool.personal else None,
    )


def _violations(outcome: Outcome | None) -> tuple[tuple[str, str], ...]:
    """Returns the (path, rule) pairs of the first five violations; () for any other outcome than `InvalidArguments`. The
    path of an unknown property is "$", since its name is the caller's text."""
    failure = outcome.failure if outcome else None
    if not isinstance(failure, InvalidArguments):
        return ()
    return tuple(("$" if each.rule == "additionalProperties" else each.path, each.rule) for each in failure.violations[:5])


def select_remembered(call: Call, outcome: Outcome | None) -> dict[str, object]:
    """Returns the arguments on the tool's allowlist for history and logs. Returns {} before validation and after NOT_FOUND,
    since the arguments may then be any text."""
    unknown = outcome is not None and isinstance(outcome.failure, NotFound)
    return {} if unknown else _shown_arguments(call, call.tool.tool.remembered)


def _shown_arguments(call: Call, names: Sequence[str]) -> dict[str, object]:
    return {name: call.arguments[name] for name in names if name in call.arguments} if call.validated else {}


class TelemetryStage:
    """Sends one event per call to every sink, with a timeline of spans if an observer wants the call. Catches and logs
    the errors of sinks and observers, since it is outside the guard. With `audit`, tells it of each call of a tool for
    personal data; if the audit is required and cannot write its line, the result is withheld."""

    def __init__(self, sinks: Sequence[Sink], audit: AuditLog | None = None, observers: Sequence[Observer] = ()) -> None:
        self._sinks, self._audit, self._observers = tuple(sinks), audit, tuple(observers)

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        timeline = self._timeline(call) if self._observers else None
        outcome: Outcome | None = None
        try:
            audit = self._audit if call.tool.tool.personal else None
            outcome = await (_audit(audit, call, inner) if audit else inner(call))
            return outcome
        finally:
            event = event_of(call, outcome)
            if timeline is not None:
                timeline.close(event.outcome)
                event = replace(event, timeline=timeline)
            for sink in self._sinks:
                try:
                    sink(event)
                except Exception:
                    logger.exception("a telemetry sink failed at call %s", event.call_id)

    def _timeline(self, call: Call) -> Timeline | None:
        """Opens the call's timeline; None if no observer wants it. Asks every one, since each counts what it wants."""
        wanting: list[Observer] = []
        for each in self._observers:
            try:
                if each.wants(call):
                    wanting.append(each)
            except Exception:
                logger.exception("an observer failed at call %s", call.call_id)
        if not wanting:
            return None
        caller = TraceContext.read(call.metadata.traceparent)
        trace_id, parent_id = (caller.trace_id, caller.span_id) if caller else (None, None)
        sampled = any(each.traces for each in wanting)
        timeline = Timeline(call.clock, call.name, call.arrived, trace_id=trace_id, parent_id=parent_id, sampled=sampled)
        call.span = timeline.call
        return timeline


async def _audit(audit: AuditLog, call: Call, inner: Handler) -> Outcome:
    outcome: Outcome | None = None
    try:
        outcome = await inner(call)
    finally:
        if outcome is None or not (audit.required and outcome.has_succeeded):
            audit.record(event_of(call, outcome))
    if audit.required and outcome.has_succeeded and not await audit.record_and_confirm(event_of(call, outcome)):
        said = "This is not shown, because looking at it cannot be recorded now. Try again in a moment."
        return Outcome(failure=DependencyFailure(said, dependency="audit", retry_after_ms=1000))
    return outcome


class GuardStage:
    """Turns exceptions into outcomes. Calls `note` with each `Failure`. Logs an unexpected error with its trace id, and
    answers without the error's text."""

    def __init__(self, note: Callable[[Call, Failure], None] = lambda call, failure: None) -> None:
        self._note = note

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        try:
            return await inner(call)
        except Failure as failure:
            self._note(call, failure)
            return Outcome(failure=failure)
        except Exception:
            context = TraceContext.read((call.span and call.span.traceparent) or call.metadata.traceparent)
            trace = "" if context is None else f", trace {context.trace_id:032x}"
            logger.exception("call %s of %s failed unexpectedly%s", call.call_id, call.name, trace)
            return Outcome(failure=InternalFailure("Something went wrong on our side. It has been logged."))
