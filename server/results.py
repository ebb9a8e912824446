"""Converts outcomes to MCP's `CallToolResult`: content, error envelope, notes for the model, and `_meta`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic_core import to_json

from server.call import FALLBACK, STALE, Call, Json, Outcome
from session.turn import FLOOR_MS, TurnKind
from tools.results.content import Audio, Content, EmbeddedBlob, EmbeddedText, Image, Text, count_bytes
from tools.results.shortening import A_TOKEN, weight, weight_as_json
from tools.schema.text import limit_json, remove_hidden
from tools.store.failures import BudgetExhausted, Failure, InputRequired

MOST_ENVELOPE_BYTES = 1800
"""Maximum bytes of an error envelope, which leaves room for the call's notes."""
LONGEST_MESSAGE = 600
VIOLATIONS = "violations"


def envelope(call: Call, failure: Failure) -> Json:
    """Returns the error envelope of a failure, with as many violations as fit into `MOST_ENVELOPE_BYTES`."""
    # Retryable only if the turn has time left after the wait; an unnamed turn is replaced by a new one when it is over.
    named = call.turn if call.turn is not None and call.turn.name.is_named else None
    time_left = named is None or named.remaining_ms() - (failure.retry_after_ms or 0) > FLOOR_MS
    retryable = failure.retryable and time_left
    data = {
        "tool": call.name,
        "request_id": call.call_id,
        "retryable": retryable,
        "retry_after_ms": failure.retry_after_ms if retryable else None,
        "fallback_available": retryable and call.tool.tool.fallback is not None and not call.fallback_tried,
        "details": failure.details,
    }
    error = {"code": failure.code, "name": failure.name, "message": _shorten(failure.message), "data": data}
    if VIOLATIONS in failure.details:
        size = len(to_json(error | {"data": data | {"details": {}}}))
        data["details"] = _fit_violations(failure.details, MOST_ENVELOPE_BYTES - size)
    return {"error": error}


def _fit_violations(details: Json, room: int) -> Json:
    """Returns the details with the violations that fit into `room` bytes, at least one. `more` counts the rest."""
    kept: list[Json] = []
    for violation in details[VIOLATIONS]:
        room -= len(to_json(violation)) + 1
        if kept and room < 0:
            break
        kept.append(violation)
    left = len(details[VIOLATIONS]) - len(kept)
    return details | {VIOLATIONS: kept} | ({"more": left} if left else {})


def _shorten(message: str) -> str:
    """Cuts a message to at most `LONGEST_MESSAGE` bytes of JSON."""
    if len(to_json(message)) <= LONGEST_MESSAGE:
        return message
    message = message[:LONGEST_MESSAGE]
    while len(to_json(message)) > LONGEST_MESSAGE - len("…".encode()):
        message = message[: len(message) * 9 // 10]
    return message + "…"


MOST_CONTENT_BYTES = 640 * 1024
"""Maximum total bytes of a result's content blocks, before base64."""
UNTRUSTED = "com.mangaassist/untrusted"
ALT = "com.mangaassist/alt"
UNTRUSTED_TEXT: Json = {"annotations": {"audience": ["assistant"]}, "_meta": {UNTRUSTED: True}}
"""Annotations of third-party text that only the model reads, as data and not as instructions."""
UNTRUSTED_VISIBLE: Json = {"annotations": {"audience": ["user", "assistant"]}, "_meta": {UNTRUSTED: True}}
"""Annotations of third-party content that the customer sees or hears too."""


def content_blocks(content: Iterable[Content]) -> list[Json]:
    """Returns the content as MCP content blocks, in order, without those that do not fit into `MOST_CONTENT_BYTES` with the
    blocks before them. An image's alternative text is in the block's `_meta`."""
    blocks, room = [], MOST_CONTENT_BYTES
    for each in content:
        if (size := count_bytes(each)) <= room:
            blocks.append(_block(each))
            room -= size
    return blocks


def _block(content: Content) -> Json:
    match content:
        case Text(text):
            return {"type": "text", "text": remove_hidden(text), **UNTRUSTED_TEXT}
        case Image(data, media_type, alt):
            image = {"type": "image", "data": b64encode(data).decode(), "mimeType": media_type, **UNTRUSTED_VISIBLE}
            return image | {"_meta": UNTRUSTED_VISIBLE["_meta"] | {ALT: remove_hidden(alt)}}
        case Audio(data, media_type):
            return {"type": "audio", "data": b64encode(data).decode(), "mimeType": media_type, **UNTRUSTED_VISIBLE}
        case EmbeddedText(uri, text, media_type):
            return _resource({"uri": uri, "mimeType": media_type, "text": remove_hidden(text)})
        case EmbeddedBlob(uri, data, media_type):
            return _resource({"uri": uri, "mimeType": media_type, "blob": b64encode(data).decode()})


def _resource(resource: Json) -> Json:
    return {"type": "resource", "resource": resource, **UNTRUSTED_VISIBLE}


SOURCE_NAMES = {
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
SESSION_MISSING_NOTE = "This conversation's earlier results may be missing for the moment: name titles by their ids."
PREFERENCES = "preferences"
NO_PREFERENCES_NOTE = "Answered without obeying what the customer asked to be remembered: it cannot be read now. Say so."
TIME_NEARLY_GONE = "The time for this turn is nearly used up: answer now with what you have."
TOKENS_NEARLY_GONE = "No further result can be read in this turn: answer now with what you have."


def fit_notes(call: Call, outcome: Outcome) -> tuple[list[str], int]:
    """Returns the notes (on ignored arguments, missing data, and a turn that is nearly over) as far as they fit into
    `outcome.room`, and the weight that they add to the answer, in 1/32 tokens. The text already has the tool's own note."""
    if not (notes := _notes(call, outcome)):
        return [], 0
    kept, added = list[str](), 0 if _own_note(outcome) else weight(',"note":')
    for note in notes:
        with_note = added + weight_as_json(f" {note}")
        if outcome.room is None or with_note <= outcome.room:
            kept.append(note)
            added = with_note
    return kept, added if kept else 0


def _own_note(outcome: Outcome) -> list[str]:
    note = (outcome.value or {}).get("note")
    return [str(note)] if note else []


def _notes(call: Call, outcome: Outcome) -> list[str]:
    notes = [*call.notes]
    if outcome.has_succeeded:
        notes += [*_source_notes(call, outcome), *([NO_PREFERENCES_NOTE] if PREFERENCES in call.degraded else [])]
    if call.turn is not None and not isinstance(outcome.failure, BudgetExhausted):
        notes += [TIME_NEARLY_GONE] if call.turn.remaining_ms() < 500 else []
        tokens = call.turn.tokens
        notes += [TOKENS_NEARLY_GONE] if tokens is not None and tokens.spend(call.tokens).is_exhausted else []
    return notes


def _source_notes(call: Call, outcome: Outcome) -> list[str]:
    if outcome.source == FALLBACK:
        over = call.turn is not None and call.turn.exhausted
        why = "the time for this turn is used up" if over else "the usual source gave no answer in time"
        return [f"This is a fallback ({outcome.fallback}), because {why}."]
    if outcome.source == STALE and outcome.as_of is not None:
        return [f"This was recorded at {iso(outcome.as_of)} and may be out of date."]
    without = [SOURCE_NAMES.get(what, what) for what in sorted(call.degraded - {SESSION, PREFERENCES})]
    names = " and ".join([", ".join(without[:-1]), *without[-1:]] if len(without) > 1 else without)
    said = [f"Answered without {names}, which did not come in time."] if without else []
    return [*said, SESSION_MISSING_NOTE] if SESSION in call.degraded else said


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


META_KEY = "com.mangaassist/call"
HISTORY_KEY = "com.mangaassist/history"
TOO_LARGE = "Some attachments of this answer are too large to be sent."


def finish_outcome(outcome: Outcome) -> Outcome:
    """Returns the outcome with its text and weight; a failure unchanged. Values from backends are untrusted, so the value is
    limited in size and stripped of hidden characters."""
    if outcome.value is None:
        return outcome
    value = limit_json(outcome.value)
    text = compact(value)
    return replace(outcome, value=value, text=text, weight=weight(text))


def call_tool_result(call: Call, outcome: Outcome) -> Json:
    """Returns the `CallToolResult` as a dict. The SDK drops members that an older protocol version does not have. Adds a
    note to the call if content blocks are left out for their size."""
    failed = outcome.failure is not None
    structured = envelope(call, outcome.failure) if outcome.failure else outcome.value or {}
    text, blocks = outcome.text, content_blocks(outcome.content)
    if len(blocks) < len(outcome.content):
        call.notes.append(TOO_LARGE)
    notes, _ = fit_notes(call, outcome)
    if note := " ".join([*_own_note(outcome), *notes]):
        # The note goes into text and structure: clients read either, and some show the model only the first block.
        structured, text = structured | {"note": note}, None
    block = {"type": "text", "text": compact(structured) if text is None else text} | ({} if failed else UNTRUSTED_TEXT)
    return {
        "resultType": "complete",
        "content": [block, *blocks],
        "structuredContent": structured,
        "isError": failed,
        "_meta": {META_KEY: call_meta(call, outcome)} | ({} if call.history is None else {HISTORY_KEY: call.history}),
    }


def call_meta(call: Call, outcome: Outcome) -> Json:
    meta: Json = {"callId": call.call_id}
    if outcome.has_succeeded:
        meta["source"] = outcome.source
        if outcome.fallback:
            meta["fallback"] = outcome.fallback
        if outcome.as_of is not None:
            meta["asOf"] = iso(outcome.as_of)
    meta["degraded"] = sorted(call.degraded)
    meta["latencyMs"] = round(call.elapsed_ms(), 2)
    if turn := call.turn:
        turn_id = None if turn.name.kind is TurnKind.IMPLICIT else turn.name.value
        meta["budget"] = {"turnId": turn_id, "totalMs": turn.total_ms, "remainingMs": turn.remaining_ms()}
        if turn.tokens is not None:
            meta["budget"]["tokens"] = {"total": turn.tokens.total, "remaining": turn.tokens.spend(call.tokens).remaining}
    return meta


def tokens_of(call: Call, outcome: Outcome) -> int:
    """Returns the estimated tokens of an answer's text and notes; 0 for questions. Content blocks are not counted."""
    if isinstance(outcome.failure, InputRequired):  # a question to the client, not read by a model
        return 0
    of_text = weight(compact(envelope(call, outcome.failure))) if outcome.failure else outcome.weight
    _, of_notes = fit_notes(call, outcome)
    return -(-(of_text + of_notes) // A_TOKEN)


def compact(value: Any) -> str:
    """Returns compact JSON. pydantic's serialiser takes a quarter of the time of `json.dumps`."""
    return to_json(value).decode()
