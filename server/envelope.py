"""The envelope of a failure: what a model or an agent can act on, in at most 2 KB."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json

from server.call import Call
from session.turn import FLOOR_MS
from tools.store.failures import Failure

Json = dict[str, Any]
MOST_BYTES = 1800
"""Which leaves room for the notes of a call."""
LONGEST_MESSAGE = 600
VIOLATIONS = "violations"


def envelope(call: Call, failure: Failure) -> Json:
    """`details` never holds more than the failure put there, and of many violations the first alone."""
    retryable = failure.retryable and _leaves_time(call, failure.retry_after_ms or 0)
    data = {
        "tool": call.name,
        "request_id": call.call_id,
        "retryable": retryable,
        "retry_after_ms": failure.retry_after_ms if retryable else None,
        "fallback_available": retryable and _fallback_available(call),
        "details": failure.details,
    }
    error = {"code": failure.code, "name": failure.name, "message": _short(failure.message), "data": data}
    if VIOLATIONS in failure.details:
        data["details"] = _fitting(failure.details, MOST_BYTES - len(to_json(error | {"data": data | {"details": {}}})))
    return {"error": error}


def _fitting(details: Json, room: int) -> Json:
    """With as many violations as there is room for, at least one, and `more` for how many there are besides."""
    kept: list[Json] = []
    for violation in details[VIOLATIONS]:
        room -= len(to_json(violation)) + 1
        if kept and room < 0:
            break
        kept.append(violation)
    left = len(details[VIOLATIONS]) - len(kept)
    return details | {VIOLATIONS: kept} | ({"more": left} if left else {})


def _short(message: str) -> str:
    """In bytes of JSON, since that is what counts: a letter may take four."""
    if len(to_json(message)) <= LONGEST_MESSAGE:
        return message
    return to_json(message)[1 : LONGEST_MESSAGE - 3].decode("utf-8", "ignore") + "…"


def _leaves_time(call: Call, wait_ms: int) -> bool:
    """Tells whether something may still be started in this turn after the wait. Turns that nobody named are replaced when
    over."""
    turn = call.turn
    return turn is None or not turn.name.named or turn.remaining_ms() - wait_ms > FLOOR_MS


def _fallback_available(call: Call) -> bool:
    """Tells whether asking again could be answered by a lower rung: not when the ladder has just been climbed down."""
    return call.tool.tool.fallback is not None and not call.descended
