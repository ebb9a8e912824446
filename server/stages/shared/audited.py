"""Writes the audit's line of a call, before anything of it is shown."""

from __future__ import annotations

from server.call import Call, Handler, Outcome
from server.stages.shared.call_event import event_of
from server.telemetry.audit.log import AuditLog
from tools.store.failures import DependencyFailure

UNRECORDED = "This is not shown, because looking at it cannot be recorded now. Try again in a moment."
AGAIN_MS = 1000


class Audited:
    """A part of telemetry, so that it sees what became of every call. Where the audit is required, what was found is
    kept back until its line is written."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        if not call.tool.tool.personal:
            return await inner(call)
        outcome: Outcome | None = None
        try:
            outcome = await inner(call)
        finally:
            if outcome is None or not (self._audit.required and outcome.succeeded):
                self._audit.record(event_of(call, outcome))
        if self._audit.required and outcome.succeeded and not await self._audit.written(event_of(call, outcome)):
            return Outcome(failure=DependencyFailure(UNRECORDED, dependency="audit", retry_after_ms=AGAIN_MS))
        return outcome
