"""Tells every sink of each call, with one event."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from server.call import Call, Handler, Outcome
from server.stages.shared.call_event import event_of
from server.telemetry.events import CallFinished, Sink

logger = logging.getLogger(__name__)

Audited = Callable[[Call, Handler], Awaitable[Outcome]]
"""The audit's line of a call, before its outcome is shown."""


class Telemetry:
    """Stands outside the guard, so a sink that fails is caught here: its error must not take the answer's place, and the
    SDK would send its text to the client."""

    def __init__(self, sinks: Sequence[Sink], audited: Audited | None = None) -> None:
        self._sinks = tuple(sinks)
        self._audited = audited

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        outcome: Outcome | None = None
        try:
            outcome = await (self._audited(call, inner) if self._audited else inner(call))
            return outcome
        finally:
            event = event_of(call, outcome)
            for sink in self._sinks:
                self._tell(sink, event)

    def _tell(self, sink: Sink, event: CallFinished) -> None:
        try:
            sink(event)
        except Exception:
            logger.exception("a telemetry sink failed at call %s", event.call_id)
