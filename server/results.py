"""An outcome as MCP carries it: `CallToolResult`, with what `_meta` tells of the call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic_core import to_json

from server.call import Call, Outcome
from server.content_blocks import FROM_ELSEWHERE, content_blocks, within_bounds
from server.envelope import envelope
from server.notes import iso, note_for_model, weight_of_notes
from session.turn import Turn, TurnKind
from tools.results.tokens import A_TOKEN, weight
from tools.schema.text import bounded
from tools.store.failures import InputRequired

META_KEY = "com.mangaassist/call"
HISTORY_KEY = "com.mangaassist/history"
Json = dict[str, Any]
TOO_LARGE = "Some of what goes with this answer is too large to be sent."


def finished(outcome: Outcome) -> Outcome:
    """Returns it with its text, and with nothing in its value that could hide in a model's context or fill it: what
    backends say is data from elsewhere, on whichever rung it came."""
    if outcome.value is None:
        return outcome
    value = bounded(outcome.value)
    text = compact(value)
    return replace(outcome, value=value, text=text, weight=weight(text))


def call_tool_result(call: Call, outcome: Outcome) -> Json:
    """Returns the result as a plain dict: the SDK checks it against the protocol's version, which drops what an older one
    lacks."""
    failed = outcome.failure is not None
    structured = envelope(call, outcome.failure) if outcome.failure else outcome.value or {}
    text, beside = outcome.text, _beside(call, outcome) if outcome.content else []
    if note := note_for_model(call, outcome):
        # Clients read the text or the structure, some give the model the first block alone: both say the same, in one place.
        structured, text = structured | {"note": note}, None
    block = {"type": "text", "text": compact(structured) if text is None else text} | ({} if failed else FROM_ELSEWHERE)
    return {
        "resultType": "complete",
        "content": [block, *beside],
        "structuredContent": structured,
        "isError": failed,
        "_meta": {META_KEY: call_meta(call, outcome)} | ({} if call.history is None else {HISTORY_KEY: call.history}),
    }


def _beside(call: Call, outcome: Outcome) -> list[Json]:
    """The blocks behind the text, as far as they may be sent."""
    content = within_bounds(outcome.content)
    if len(content) < len(outcome.content):
        call.notes.append(TOO_LARGE)
    return content_blocks(content)


def call_meta(call: Call, outcome: Outcome) -> Json:
    meta: Json = {"callId": call.call_id}
    if outcome.succeeded:
        meta["source"] = outcome.source
        if outcome.fallback:
            meta["fallback"] = outcome.fallback
        if outcome.as_of is not None:
            meta["asOf"] = iso(outcome.as_of)
    meta["degraded"] = sorted(call.degraded)
    meta["latencyMs"] = round(call.elapsed_ms(), 2)
    if turn := call.turn:
        meta["budget"] = _budget(turn, call.tokens)
    return meta


def _budget(turn: Turn, given: int) -> Json:
    """Time and, where they are counted, tokens: what there was of them in all, and is now."""
    turn_id = None if turn.name.kind is TurnKind.IMPLICIT else turn.name.value
    budget: Json = {"turnId": turn_id, "totalMs": turn.total_ms, "remainingMs": turn.remaining_ms()}
    if turn.tokens is not None:
        budget["tokens"] = {"total": turn.tokens.total, "remaining": turn.tokens.after(given).remaining}
    return budget


def tokens_of(call: Call, outcome: Outcome) -> int:
    """What an answer comes to, by estimate, as far as is known before it is recorded. Blocks beside the text are not
    counted: a picture is as many tokens as its reader makes of it."""
    if isinstance(outcome.failure, InputRequired):  # a question to the client, which no model reads
        return 0
    of_text = weight(compact(envelope(call, outcome.failure))) if outcome.failure else outcome.weight
    return -(-(of_text + weight_of_notes(call, outcome)) // A_TOKEN)


def compact(value: Any) -> str:
    """Writes JSON without spaces, text as it is, by the writer that pydantic brings: json takes four times as long."""
    return to_json(value).decode()
