"""What telemetry, the audit and the history may say of a call."""

from __future__ import annotations

from collections.abc import Sequence

from server.call import Call, Outcome
from server.telemetry.events import CallFinished
from session.keys import user_hash
from tools.store.failures import InvalidArguments, NotFound

MOST_VIOLATIONS = 5


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
        traceparent=call.metadata.traceparent,
        arguments=remembered(call, outcome),
        agent=call.principal.agent,
        empty=bool(outcome and outcome.value and outcome.value.get("results") == []),
        variant=call.variant,
        violations=_violations(outcome),
        turn_over=bool(call.turn and call.turn.exhausted),
        over_between=bool(call.turn and call.turn.over_between),
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
