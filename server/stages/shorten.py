"""What the model can afford to read: a result that is longer than its share of tokens is shortened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_core import to_json

from server.call import Call, Handler, Outcome
from server.results import compact, finished, weight_of_notes
from session.begin import result_set_name
from session.memory import LARGEST_WHOLE, SessionMemory, pack
from tools.conditions.offers import PLACES as PLACES
from tools.conditions.remembered import without_words
from tools.contract import Json
from tools.results.shortening import A_TOKEN, Cut, Shortened, shortened, weight
from tools.store.failures import BudgetExhausted


def packed_whole(call: Call) -> bytes:
    """Empty where there is none to keep: what is personal is kept nowhere but where it comes from, and one result must not
    fill a session."""
    if call.whole is None or call.session is None or call.tool.tool.personal or not call.tool.tool.recorded:
        return b""
    packed = pack(to_json(without_words(call.whole)))
    return packed if len(packed) <= LARGEST_WHOLE else b""


OFFSET, NEXT, TITLE_IDS, RESULT_SET = "offset", "next_offset", "title_ids", "result_set"


def continued(call: Call, short: Shortened, whole: Json, places: Sequence[int]) -> Json:
    """The shortened value, with `next_offset` right behind its last row and a `result_set` of the rows that are left: what
    was not shown is not what "the second one" means. `places` are those of the rows in the list that offsets count, where
    they do not follow one another."""
    value, cut = short.value, _of_root(short)
    if cut is None:
        return value
    if RESULT_SET in value:
        value = value | {RESULT_SET: result_set_name([str(row["title_id"]) for row in value[cut.name]])}
    if OFFSET in call.tool.tool.input_schema["properties"] and (places or _follow(call, cut, whole)):
        after = places[cut.kept - 1] if places and cut.kept else cut.kept
        value = value | {NEXT: call.arguments.get(OFFSET, 0) + after}
    return value


def _follow(call: Call, cut: Cut, whole: Json) -> bool:
    """Whether the rows are what offsets count, one after another: some lists are a choice of rows."""
    return NEXT in whole or whole.get("total", cut.of) == call.arguments.get(OFFSET, 0) + cut.of


def hints(call: Call, short: Shortened, value: Json) -> list[str]:
    """The most useful first, since there may not be room for all."""
    cut = _of_root(short)
    told = [f"Shortened: {cut.kept} of {cut.of}{_way_on(call, value)}."] if cut else []
    if short.left_out:
        said = "Left out" if told else "Shortened: without"
        told.append(f"{said} {', '.join(dict.fromkeys(short.left_out))}.")
    if call.packed and "session" not in call.degraded:
        told.append(f"The whole: manga://session/results/{call.call_id}")
    return told


def _way_on(call: Call, value: Json) -> str:
    if NEXT in value:
        return f", offset {value[NEXT]} goes on"
    return ", pass the others as title_ids" if TITLE_IDS in call.tool.tool.input_schema["properties"] else ""


def _of_root(short: Shortened) -> Cut | None:
    """The first list that has lost rows, where it is one of the result's own."""
    return next((cut for cut in short.cuts if isinstance(short.value.get(cut.name), list)), None)


USED_UP = "The tokens for this turn are used up. Answer with what you have."
TOO_LONG = "Even the least of this answer is too long for what is left of this turn. Answer with what you have."
SPARE = 20 * A_TOKEN
"""For `truncated`, where the list goes on, and the name of what is left of it."""
FIRST_HINT, MORE_HINTS = 24 * A_TOKEN, 100 * A_TOKEN


class ShortenStage:
    """Outside caches and idempotency, which keep the whole. A call may give `most` tokens, or its share of what its turn has
    left. Sets `room` and `whole`. Blocks beside the text, pictures above all, are not counted."""

    def __init__(self, memory: SessionMemory, most: int) -> None:
        self._memory = memory
        self._most = most

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        if not call.tool.tool.recorded:  # a resource, which an application reads that knows what it is for
            return finished(await inner(call))
        budget = call.turn.tokens if call.turn else None
        if budget is not None and budget.exhausted:
            self._let_go(call)
            raise BudgetExhausted(USED_UP, details={"what": "tokens"})
        most = self._most if budget is None else budget.allowance(self._most, call.expected_calls)
        return _within(call, await inner(call), most * A_TOKEN)

    def _let_go(self, call: Call) -> None:
        """Of an idempotency key that came with the beginning: nothing will be recorded under it."""
        if call.begin_request is not None and call.begin_request.claim is not None:
            call.pending_writes.append(self._memory.settle(call.begin_request.claim, None))


def _within(call: Call, outcome: Outcome, most: int) -> Outcome:
    places = (outcome.value or {}).get(PLACES, [])
    if places and outcome.value is not None:
        outcome = replace(outcome, value={name: each for name, each in outcome.value.items() if name != PLACES})
    outcome = finished(outcome)
    notes = weight_of_notes(call, outcome)
    if outcome.weight + notes > most:
        outcome = _shortened(call, outcome, most - notes - FIRST_HINT - min(most // 10, MORE_HINTS) - SPARE, places)
        if outcome.weight > most:
            raise BudgetExhausted(TOO_LONG, details={"what": "tokens"})
    call.room = most - outcome.weight
    return outcome


def _shortened(call: Call, outcome: Outcome, most: int, places: list[int]) -> Outcome:
    """In at most so much weight, or the least of it. As it is where nothing of it may be lost."""
    assert outcome.value is not None
    short = shortened(outcome.value, (*call.tool.sheds, "note"), most)
    if not short.left_out and not short.cuts:
        return outcome
    value = continued(call, short, outcome.value, places) | {"truncated": True}
    call.whole = outcome.value
    call.packed = packed_whole(call)
    call.notes[:0] = hints(call, short, value)
    text = compact(value)
    return replace(outcome, value=value, text=text, weight=weight(text))
