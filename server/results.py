"""An outcome as MCP carries it: `CallToolResult`, with the envelope of a failure and what `_meta` tells of the call."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic_core import to_json

from server.call import FALLBACK, STALE, Call, Outcome
from session.turn import FLOOR_MS, TurnKind
from tools.schema.text import bounded
from tools.store.failures import BudgetExhausted, Failure

META_KEY = "com.mangaassist/call"
NEARLY_GONE_MS = 500
PLAIN_WORDS = {
    "catalog": "the catalogue itself (this is the store's own record)",
    "vector": "search by meaning",
    "stock": "some prices and stock",
    "profile": "what the customer bought and looked at before",
    "related": "the related titles",
    "taste": "similar titles",
}
Json = dict[str, Any]
SESSION = "session"
FORGETFUL = "What this conversation has shown before may be forgotten for the moment: name titles by their ids."
"""The process goes on with what it saw itself, so that nothing need be missing."""
FROM_ELSEWHERE: Json = {"annotations": {"audience": ["assistant"]}, "_meta": {"com.mangaassist/untrusted": True}}
"""Marks text that others wrote: for the model to read as data, and for an agent to keep from being obeyed. MCP's annotations
have no word of their own for it."""


def finished(outcome: Outcome) -> Outcome:
    """Returns it with its text, and with nothing in its value that could hide in a model's context or fill it: what
    backends say is data from elsewhere, on whichever rung it came."""
    if outcome.value is None:
        return outcome
    value = bounded(outcome.value)
    return replace(outcome, value=value, text=compact(value))


def call_tool_result(call: Call, outcome: Outcome) -> Json:
    """Returns the result as a plain dict: the SDK checks it against the protocol's version, which drops what an older one
    lacks."""
    failed = outcome.failure is not None
    structured = envelope(call, outcome.failure) if outcome.failure else outcome.value or {}
    text = outcome.text
    if note := note_for_model(call, outcome):
        # Clients read the text or the structure, some give the model the first block alone: both say the same, in one place.
        structured, text = structured | {"note": note}, None
    block = {"type": "text", "text": compact(structured) if text is None else text} | ({} if failed else FROM_ELSEWHERE)
    return {
        "resultType": "complete",
        "content": [block],
        "structuredContent": structured,
        "isError": failed,
        "_meta": {META_KEY: call_meta(call, outcome)},
    }


def envelope(call: Call, failure: Failure) -> Json:
    """Returns what a model or an agent can act on. `details` never holds more than the failure put there."""
    retryable = failure.retryable and _leaves_time(call, failure.retry_after_ms or 0)
    data = {
        "tool": call.name,
        "request_id": call.call_id,
        "retryable": retryable,
        "retry_after_ms": failure.retry_after_ms if retryable else None,
        "fallback_available": retryable and _fallback_available(call),
        "details": failure.details,
    }
    return {"error": {"code": failure.code, "name": failure.name, "message": failure.message, "data": data}}


def _leaves_time(call: Call, wait_ms: int) -> bool:
    """Tells whether something may still be started in this turn after the wait. Turns that nobody named are replaced when
    over."""
    turn = call.turn
    return turn is None or not turn.name.named or turn.remaining_ms() - wait_ms > FLOOR_MS


def _fallback_available(call: Call) -> bool:
    """Tells whether asking again could be answered by a lower rung: not when the ladder has just been climbed down."""
    return call.tool.tool.fallback is not None and not call.descended


def call_meta(call: Call, outcome: Outcome) -> Json:
    meta: Json = {"callId": call.call_id}
    if outcome.succeeded:
        meta["source"] = outcome.source
        if outcome.fallback:
            meta["fallback"] = outcome.fallback
        if outcome.as_of is not None:
            meta["asOf"] = _iso(outcome.as_of)
    meta["degraded"] = sorted(call.degraded)
    meta["latencyMs"] = round(call.elapsed_ms(), 2)
    if turn := call.turn:
        turn_id = None if turn.name.kind is TurnKind.IMPLICIT else turn.name.value
        meta["budget"] = {"turnId": turn_id, "totalMs": turn.total_ms, "remainingMs": turn.remaining_ms()}
    return meta


def note_for_model(call: Call, outcome: Outcome) -> str | None:
    """Says what the model should know of the answer beside what is in it: what the tool itself had to say, which
    arguments did not count, how good the answer is, that time is short. None where there is nothing to say."""
    notes = [str((outcome.value or {}).get("note") or ""), *call.notes]
    if outcome.succeeded:
        notes.append(_about_source(call, outcome))
    says_so = isinstance(outcome.failure, BudgetExhausted)
    if call.turn is not None and call.turn.remaining_ms() < NEARLY_GONE_MS and not says_so:
        notes.append("The time for this turn is nearly used up: answer now with what you have.")
    return " ".join(note for note in notes if note) or None


def _about_source(call: Call, outcome: Outcome) -> str:
    if outcome.source == FALLBACK:
        return f"This is a fallback ({outcome.fallback}), because the usual source gave no answer in time."
    if outcome.source == STALE and outcome.as_of is not None:
        return f"This was recorded at {_iso(outcome.as_of)} and may be out of date."
    without = [PLAIN_WORDS.get(what, what) for what in sorted(call.degraded - {SESSION})]
    said = [f"Answered without {_listed(without)}, which did not come in time."] if without else []
    return " ".join([*said, FORGETFUL] if SESSION in call.degraded else said)


def _listed(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def compact(value: Any) -> str:
    """Writes JSON without spaces, text as it is, by the writer that pydantic brings: json takes four times as long."""
    return to_json(value).decode()
