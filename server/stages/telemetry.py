"""One event a call, to every sink."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from server.call import Call, Handler, Outcome
from server.telemetry.events import CallFinished, Sink
from session.keys import user_hash
from tools.store.failures import InvalidArguments, NotFound

logger = logging.getLogger(__name__)

MOST_VIOLATIONS = 5

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


def event_of(call: Call, outcome: Outcome | None) -> CallFinished:
    """`outcome` is None when the call was cancelled: nothing else comes past the guard."""
    return CallFinished(
        call_id=call.call_id,
        tool=call.name,
        outcome="cancelled" if outcome is None else outcome.failure.name if outcome.failure else "ok",
        source=outcome.source if outcome and outcome.succeeded else None,
        fallback=outcome.fallback if outcome else None,
        milliseconds=call.elapsed_ms(),
        budget_left_ms=call.turn.remaining_ms() if call.turn else None,
        degraded=tuple(sorted(call.degraded)),
        transport=call.transport,
        user=user_hash(call.principal.user),
        traceparent=call.stated.traceparent,
        arguments=remembered(call, outcome),
        agent=call.principal.agent,
        empty=bool(outcome and outcome.value and outcome.value.get("results") == []),
        violations=_violations(outcome),
        audited=_shown(call, call.tool.tool.audited) if call.tool.tool.personal else None,
    )


def _violations(outcome: Outcome | None) -> tuple[tuple[str, str], ...]:
    """Where the arguments broke which rule; what the caller gave, the names of unknown properties among it, stays out."""
    failure = outcome.failure if outcome else None
    if not isinstance(failure, InvalidArguments):
        return ()
    broken = failure.violations[:MOST_VIOLATIONS]
    return tuple(("$" if each.rule == "additionalProperties" else each.path, each.rule) for each in broken)


def remembered(call: Call, outcome: Outcome | None) -> dict[str, object]:
    """The arguments that history and logs may show, by the tool's allowlist; none before they were checked, and none that
    name nothing here: what was refused, or is the id of no title, can be anything that somebody typed."""
    unknown = outcome is not None and isinstance(outcome.failure, NotFound)
    return {} if unknown else _shown(call, call.tool.tool.remembered)


def _shown(call: Call, names: Sequence[str]) -> dict[str, object]:
    return {name: call.arguments[name] for name in names if name in call.arguments} if call.validated else {}
