"""What the model should know of an answer beside what is in it, as a `note` in the answer."""

from __future__ import annotations

from datetime import UTC, datetime

from server.call import FALLBACK, STALE, Call, Outcome
from tools.results.tokens import weight, weight_as_json
from tools.store.failures import BudgetExhausted

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
    if call.room is None or not notes:
        return notes
    room, kept = call.room - _field(outcome), []
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
