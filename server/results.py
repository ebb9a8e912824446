"""An outcome as MCP carries it: `CallToolResult`, with what `_meta` tells of the call."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic_core import to_json

from server.call import FALLBACK, STALE, Call, Outcome
from session.turn import FLOOR_MS, Turn, TurnKind
from tools.results.content import Audio, Content, EmbeddedBlob, EmbeddedText, Image, Text
from tools.results.shortening import A_TOKEN, weight, weight_as_json
from tools.schema.text import bounded, visible
from tools.store.failures import BudgetExhausted, Failure, InputRequired

Json = dict[str, Any]
MOST_ENVELOPE_BYTES = 1800
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
        data["details"] = _fitting(
            failure.details, MOST_ENVELOPE_BYTES - len(to_json(error | {"data": data | {"details": {}}}))
        )
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


MOST_CONTENT_BYTES = 640 * 1024
"""Of all blocks of one result, before base64 makes a third more of them."""
UNTRUSTED = "com.mangaassist/untrusted"
ALT = "com.mangaassist/alt"
FROM_ELSEWHERE: Json = {"annotations": {"audience": ["assistant"]}, "_meta": {UNTRUSTED: True}}
"""Marks text that others wrote: for the model to read as data, and for an agent to keep from being obeyed. MCP's annotations
have no word of their own for it."""
FOR_BOTH: Json = {"annotations": {"audience": ["user", "assistant"]}, "_meta": {UNTRUSTED: True}}
"""The same for what a customer is to see or hear."""


def within_bounds(content: Iterable[Content]) -> tuple[Content, ...]:
    """Those that fit, in order: one that is too large leaves room for those after it."""
    kept, room = [], MOST_CONTENT_BYTES
    for each in content:
        if (size := each.size) <= room:
            kept.append(each)
            room -= size
    return tuple(kept)


def content_blocks(content: Sequence[Content]) -> list[Json]:
    """One block each. MCP has no place for an image's alternative text, so that it stands in the block's `_meta`."""
    return [_block(each) for each in content]


def _block(content: Content) -> Json:
    match content:
        case Text(text):
            return {"type": "text", "text": visible(text), **FROM_ELSEWHERE}
        case Image(data, media_type, alt):
            image = {"type": "image", "data": _base64(data), "mimeType": media_type, **FOR_BOTH}
            return image | {"_meta": FOR_BOTH["_meta"] | {ALT: visible(alt)}}
        case Audio(data, media_type):
            return {"type": "audio", "data": _base64(data), "mimeType": media_type, **FOR_BOTH}
        case EmbeddedText(uri, text, media_type):
            return _resource({"uri": uri, "mimeType": media_type, "text": visible(text)})
        case EmbeddedBlob(uri, data, media_type):
            return _resource({"uri": uri, "mimeType": media_type, "blob": _base64(data)})


def _resource(resource: Json) -> Json:
    return {"type": "resource", "resource": resource, **FOR_BOTH}


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


NEARLY_GONE_MS = 500
PLAIN_WORDS = {
    "catalog": "the catalogue itself (this is the store's own record)",
    "vector": "search by meaning",
    "stock": "some prices and stock",
    "orders": "what the customer has ordered",
    "profile": "what the customer looked at and searched for before",
    "matches": "anything that matches",
    "names": "what was said of titles and authors by name",
    "related": "the related titles",
    "taste": "similar titles",
    "pages": "the preview pages",
}
SESSION = "session"
FORGETFUL = "What this conversation has shown before may be forgotten for the moment: name titles by their ids."
"""The process goes on with what it saw itself, so that nothing need be missing."""
PREFERENCES = "preferences"
NOT_OBEYED = "Answered without obeying what the customer asked to be remembered: it cannot be read now. Say so."
TIME_NEARLY_GONE = "The time for this turn is nearly used up: answer now with what you have."
TOKENS_NEARLY_GONE = "No further result can be read in this turn: answer now with what you have."


def note_for_model(call: Call, outcome: Outcome) -> str | None:
    """What the tool itself had to say, which arguments did not count, how good the answer is, that the turn is nearly over:
    as much of it as there is room for. None where there is nothing to say."""
    return " ".join([*_own(outcome), *_affordable(call, outcome)]) or None


def weight_of_notes(call: Call, outcome: Outcome) -> int:
    """What they add to the answer in parts of a token, the tool's own aside, which is in it."""
    notes = _affordable(call, outcome)
    return sum(map(_cost, notes)) + _field(outcome) if notes else 0


def _affordable(call: Call, outcome: Outcome) -> list[str]:
    notes = _beside(call, outcome)
    if outcome.room is None or not notes:
        return notes
    room, kept = outcome.room - _field(outcome), []
    for note in notes:
        if (cost := _cost(note)) <= room:
            room -= cost
            kept.append(note)
    return kept


def _field(outcome: Outcome) -> int:
    return 0 if _own(outcome) else weight(',"note":')


def _cost(note: str) -> int:
    """With the space before it, and the quotes that only one of them needs."""
    return weight_as_json(f" {note}")


def _own(outcome: Outcome) -> list[str]:
    note = (outcome.value or {}).get("note")
    return [str(note)] if note else []


def _beside(call: Call, outcome: Outcome) -> list[str]:
    notes = [*call.notes]
    if outcome.succeeded:
        notes += _about_source(call, outcome)
    exhausted = isinstance(outcome.failure, BudgetExhausted)  # which says so itself
    if call.turn is not None and not exhausted:
        notes += [TIME_NEARLY_GONE] if call.turn.remaining_ms() < NEARLY_GONE_MS else []
        tokens = call.turn.tokens
        notes += [TOKENS_NEARLY_GONE] if tokens is not None and tokens.after(call.tokens).exhausted else []
    return notes


def _about_source(call: Call, outcome: Outcome) -> list[str]:
    return [*_rung(call, outcome), *([NOT_OBEYED] if PREFERENCES in call.degraded else [])]


def _rung(call: Call, outcome: Outcome) -> list[str]:
    if outcome.source == FALLBACK:
        return [f"This is a fallback ({outcome.fallback}), because the usual source gave no answer in time."]
    if outcome.source == STALE and outcome.as_of is not None:
        return [f"This was recorded at {iso(outcome.as_of)} and may be out of date."]
    without = [PLAIN_WORDS.get(what, what) for what in sorted(call.degraded - {SESSION, PREFERENCES})]
    said = [f"Answered without {_listed(without)}, which did not come in time."] if without else []
    return [*said, FORGETFUL] if SESSION in call.degraded else said


def _listed(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


META_KEY = "com.mangaassist/call"
HISTORY_KEY = "com.mangaassist/history"
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
    text, beside = outcome.text, _results_beside(call, outcome) if outcome.content else []
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


def _results_beside(call: Call, outcome: Outcome) -> list[Json]:
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
