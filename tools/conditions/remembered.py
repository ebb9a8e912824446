"""Adds remembered preferences to the conditions of a call.

A condition of the call overrides remembered conditions on the same subject, for this call only. If the titles are for
another reader, only the remembered budget applies, since the taste is the customer's own."""

from __future__ import annotations

from dataclasses import replace

from tools.contract import Json, ToolContext
from tools.store.currency import YEN, Currency
from tools.store.models import Conditions
from tools.store.preferences import ParsedPreference, Stance, stance_of
from tools.store.search.conditions.wording import describe_condition
from tools.store.search.reading.reading import Reading, Understood

PREFERENCES = "preferences"
"""Entry in `degraded` for preferences that could not be read."""
READ_SECONDS = 0.25
"""Most seconds of a call for parsing preferences that are not cached; the next call parses the remaining ones."""
BUDGET = ("price", "series_price")
FOR_ANOTHER = "the customer's own taste, and this is for somebody else"
ASKED_OTHERWISE = "this call asks otherwise"
SOURCE = "remembered"
LONGEST_QUOTE = 80
"""Most characters of a preference that are quoted."""


async def recall_preferences(
    context: ToolContext, reading: Reading, own: Conditions
) -> tuple[Conditions, tuple[Understood, ...]]:
    """Returns the remembered conditions that apply to a call, and how each preference was understood. `own`: the call's
    conditions from text and arguments. Adds `PREFERENCES` to `degraded` if some could not be parsed in time."""
    if not context.preferences:
        return Conditions(), ()
    reader = context.store.preference_reader
    heard = await reader.read_all(context.preferences, context.deadline.within(READ_SECONDS))
    if any(each.unread for each in heard):
        context.degraded.add(PREFERENCES)
    now = replace(stance_of(reading), conditions=own)
    return apply_preferences(heard, now, another=reading.another, currency=context.store.currency)


def apply_preferences(
    heard: tuple[ParsedPreference, ...], now: Stance, *, another: bool, currency: Currency = YEN
) -> tuple[Conditions, tuple[Understood, ...]]:
    """Returns the conditions of each preference in `heard` that the call's own statement `now` does not override. For
    `another` reader returns only the budget."""
    conditions, understood = Conditions(), list[Understood]()
    for kept in heard:
        if not kept.holds.stated:
            continue
        left = now.leaves(kept.holds)
        if another:
            left = left.only(*BUDGET)
        conditions = conditions.and_also(left)
        understood.append(_explain_preference(kept, left, FOR_ANOTHER if another else ASKED_OTHERWISE, currency))
    return conditions, tuple(understood)


def without_words(result: Json) -> Json:
    """Returns the result without quotations from preferences, for copies that may outlive the preferences."""
    told = result.get("understood")
    if not told:
        return result
    rows = [{**each, "from": SOURCE} if each["from"].startswith(f"{SOURCE}: ") else each for each in told]
    return result | {"understood": rows}


def _explain_preference(kept: ParsedPreference, left: Conditions, why_not: str, currency: Currency) -> Understood:
    words = f"{SOURCE}: {quote_text(kept.preference.text)}"
    if not left.stated:
        return Understood(f"{_word_obeyed(kept, kept.holds, currency)}: {why_not}", words, obeyed=False)
    return Understood(_word_obeyed(kept, left, currency), words)


def _word_obeyed(kept: ParsedPreference, conditions: Conditions, currency: Currency) -> str:
    if conditions == kept.stance.conditions:
        return ", ".join(kept.understood)
    return ", ".join(describe_condition(name, conditions, currency) for name in conditions.stated)


def quote_text(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"
