"""What the model can afford to read: a result that is longer than its share of tokens is shortened."""

from __future__ import annotations

from dataclasses import replace

from server.call import Call, Handler, Outcome
from server.notes import weight_of_notes
from server.results import compact, finished
from server.stages.shared.continued import PLACES, continued, hints
from server.stages.shared.whole_result import packed_whole
from session.memory import SessionMemory
from tools.results.shortening import shortened
from tools.results.tokens import A_TOKEN, weight
from tools.store.failures import BudgetExhausted

USED_UP = "The tokens for this turn are used up. Answer with what you have."
TOO_LONG = "Even the least of this answer is too long for what is left of this turn. Answer with what you have."
SPARE = 20 * A_TOKEN
"""For `truncated`, where the list goes on, and the name of what is left of it."""
FIRST_HINT, MORE_HINTS = 24 * A_TOKEN, 100 * A_TOKEN


class Shorten:
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
