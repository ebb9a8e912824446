from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_core import to_json

from server.call import Call, Handler, Outcome
from server.results import compact, finish_outcome, fit_notes
from session.begin import result_set_name
from session.memory import LARGEST_WHOLE, SessionMemory, pack
from tools.conditions.offers import PLACES
from tools.conditions.remembered import without_words
from tools.contract import Json
from tools.results.shortening import A_TOKEN, Cut, Shortened, shorten, weight
from tools.store.currency import YEN, Currency
from tools.store.failures import BudgetExhausted

TOO_LONG = "Even the shortest form of this answer exceeds what is left of this turn. Answer with what you have."
SPARE = 20 * A_TOKEN
"""Weight reserved for `truncated`, `next_offset` and `result_set`."""
FIRST_HINT, MORE_HINTS = 24 * A_TOKEN, 100 * A_TOKEN


class ShortenStage:
    """Shortens results to `most` tokens, or to the call's share of the turn's remaining tokens if that is less. Content
    blocks are not counted. The cache and idempotency stages are inside this stage, so they store the full result. Also
    converts amounts to the shop's `currency`. Results of resources are not shortened."""

    def __init__(self, memory: SessionMemory, most: int, currency: Currency = YEN) -> None:
        self._memory = memory
        self._most = most
        self._currency = currency

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        if call.tool.tool.is_primitive:  # a resource: read by the client application, not by a model
            return finish_outcome(self._in_shop_currency(await inner(call)))
        budget = call.turn.tokens if call.turn else None
        if budget is not None and budget.is_exhausted:
            if (claim := call.required_begin.request.claim) is not None:  # releases the key: no result will be recorded
                call.pending_writes.append(self._memory.settle(claim, None))
            said = "The tokens for this turn are used up. Answer with what you have."
            raise BudgetExhausted(said, details={"what": "tokens"})
        most = self._most if budget is None else budget.allowance(self._most, call.expected_calls)
        return _fit(call, self._in_shop_currency(await inner(call)), most * A_TOKEN)

    def _in_shop_currency(self, outcome: Outcome) -> Outcome:
        """Converts amounts from the internal form (smallest unit, field names with "yen") to the shop's currency."""
        return outcome if outcome.value is None else replace(outcome, value=self._currency.show(outcome.value))


def _fit(call: Call, outcome: Outcome, most: int) -> Outcome:
    """Returns the outcome shortened so that its text and notes weigh at most `most`, in units of 1/32 token. Raises
    `BudgetExhausted` if the shortest text weighs more."""
    places = (outcome.value or {}).get(PLACES, [])
    if outcome.value is not None and PLACES in outcome.value:
        outcome = replace(outcome, value={name: each for name, each in outcome.value.items() if name != PLACES})
    outcome = finish_outcome(outcome)
    _, notes = fit_notes(call, outcome)
    if outcome.weight + notes > most:
        outcome = _shorten(call, outcome, most - notes - FIRST_HINT - min(most // 10, MORE_HINTS) - SPARE, places)
        if outcome.weight > most:
            raise BudgetExhausted(TOO_LONG, details={"what": "tokens"})
    return replace(outcome, room=most - outcome.weight)


def _shorten(call: Call, outcome: Outcome, most: int, places: Sequence[int]) -> Outcome:
    """Shortens the outcome's value to weight `most` (in 1/32 tokens), or as far as the tool allows, and adds notes on the
    cut to the call. Returns the outcome unchanged if nothing may be left out."""
    assert outcome.value is not None
    short = shorten(outcome.value, (*call.tool.sheds, "note"), most)
    if not short.left_out and not short.cuts:
        return outcome
    cut = next((cut for cut in short.cuts if isinstance(short.value.get(cut.name), list)), None)
    value = (short.value if cut is None else _continue(call, short.value, cut, outcome.value, places)) | {"truncated": True}
    packed = b""
    if call.session is not None and not call.tool.tool.personal:
        packed = pack(to_json(without_words(outcome.value)))
        packed = packed if len(packed) <= LARGEST_WHOLE else b""
    call.notes[:0] = _hints(call, short, cut, value, kept=bool(packed))
    text = compact(value)
    return replace(outcome, value=value, text=text, weight=weight(text), packed=packed)


def _continue(call: Call, value: Json, cut: Cut, whole: Json, places: Sequence[int]) -> Json:
    """Returns the shortened `value` with corrected fields about its rows. `result_set` becomes that of the kept rows, so
    that "the second one" means a row that was shown. For a tool with the argument `offset`, `next_offset` becomes the
    position after the last kept row, if it is known. Both stay as they are if the cut list is not that of the `result_set`,
    such as `relaxed` or `nearly`. `whole` is the value before it was shortened. `places` has the position, from 1, of each
    row of `whole` among the rows checked from `offset` on; it is empty if all checked rows are in `whole`."""
    if "result_set" in value:
        shown = [str(row.get("title_id")) for row in whole[cut.name] if isinstance(row, dict)]
        if not shown or result_set_name(shown) != whole["result_set"]:
            return value
        value = value | {"result_set": result_set_name(shown[: cut.kept])}
    offset = call.arguments.get("offset", 0)
    consecutive = "next_offset" in whole or whole.get("total", cut.of) == offset + cut.of
    if "offset" in call.tool.tool.input_schema["properties"] and (places or consecutive):
        value = value | {"next_offset": offset + (places[cut.kept - 1] if places and cut.kept else cut.kept)}
    return value


def _hints(call: Call, short: Shortened, cut: Cut | None, value: Json, *, kept: bool) -> list[str]:
    hints = []
    if cut:
        rest = ", pass the others as title_ids" if "title_ids" in call.tool.tool.input_schema["properties"] else ""
        rest = f", offset {value['next_offset']} goes on" if "next_offset" in value else rest
        hints.append(f"Shortened: {cut.kept} of {cut.of}{rest}.")
    if short.left_out:
        hints.append(f"{'Left out' if cut else 'Shortened: without'} {', '.join(dict.fromkeys(short.left_out))}.")
    if kept and "session" not in call.degraded:
        hints.append(f"The whole: manga://session/results/{call.call_id}")
    return hints
