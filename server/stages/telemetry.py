"""Tells every sink of each call, with one event; in detail of those that an observer wants."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from server.call import Call, Handler, Outcome
from server.stages.shared.call_event import event_of
from server.telemetry.events import CallFinished, Observer, Sink
from server.telemetry.trace_context import TraceContext
from session.resilience.timeline import Timeline

logger = logging.getLogger(__name__)

Audited = Callable[[Call, Handler], Awaitable[Outcome]]
"""The audit's line of a call, before its outcome is shown."""


class Telemetry:
    """Stands outside the guard, so a sink or an observer that fails is caught here: its error must not take the answer's
    place, and the SDK would send its text to the client."""

    def __init__(self, sinks: Sequence[Sink], audited: Audited | None = None, observers: Sequence[Observer] = ()) -> None:
        self._sinks = tuple(sinks)
        self._audited = audited
        self._observers = tuple(observers)

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        timeline = self._timeline(call) if self._observers else None
        outcome: Outcome | None = None
        try:
            outcome = await (self._audited(call, inner) if self._audited else inner(call))
            return outcome
        finally:
            event = event_of(call, outcome)
            if timeline is not None:
                timeline.close(event.outcome)
                event = replace(event, timeline=timeline)
            for sink in self._sinks:
                self._tell(sink, event)

    def _timeline(self, call: Call) -> Timeline | None:
        """Begins that of a call that is wanted. Each observer is asked, whatever another said: they count what they want."""
        wanting = [each for each in self._observers if _wants(each, call)]
        if not wanting:
            return None
        caller = TraceContext.read(call.metadata.traceparent)
        trace_id, parent_id = (caller.trace_id, caller.span_id) if caller else (None, None)
        timeline = Timeline(
            call.clock,
            call.name,
            call.arrived,
            trace_id=trace_id,
            parent_id=parent_id,
            sampled=any(each.traces for each in wanting),
        )
        call.interval = timeline.call
        return timeline

    def _tell(self, sink: Sink, event: CallFinished) -> None:
        try:
            sink(event)
        except Exception:
            logger.exception("a telemetry sink failed at call %s", event.call_id)


def _wants(observer: Observer, call: Call) -> bool:
    try:
        return observer.wants(call)
    except Exception:
        logger.exception("an observer failed at call %s", call.call_id)
        return False
