from __future__ import annotations

import re
from collections.abc import Sequence

from session.preferences import LONGEST, Preference
from session.stated_preferences import Preferences
from tools.contract import Effect, Json, Tool, ToolContext
from tools.preferences.answers import KEPT, NOT_EVERYWHERE, change_preferences, check_not_blank, list_kept, one_line
from tools.results import shortening as worth
from tools.schema.parts import STRINGS, answer, argument, arguments
from tools.store.preferences import ParsedPreference, Stance, stance_of
from tools.store.search.text.characters import has_cjk, normalise

ALL = re.compile(r"all|everything|全部|すべて|全て|ぜんぶ")
_BUDGET = re.compile(r"\b(?:budget|price|spend)\b|予算|値段|価格")
_PART, _PART_CJK = 3, 2
"""Least characters by which a part of a preference identifies it; the second for Chinese and Japanese text."""


Chosen = tuple[tuple[Preference, ...], tuple[Preference, ...]]
"""(preferences to remove, candidates). Several preferences that contain the text are candidates; none is then removed."""


def match_preferences(text: str, asked: Stance, remembered: Sequence[ParsedPreference]) -> Chosen:
    """Finds the preferences that the text refers to: all for a text such as "all", else those with the same words, else the
    only one that contains the text, else those on the same topic. `asked`: the text parsed as a statement."""
    said = normalise(text)
    same = remembered if ALL.fullmatch(said) else [each for each in remembered if normalise(each.preference.text) == said]
    parts = [each for each in remembered if _is_part(said, normalise(each.preference.text))]
    if len(parts) > 1 and not same:
        return (), tuple(each.preference for each in parts)
    found = same or parts or [each for each in remembered if _is_about(said, asked, each)]
    return tuple(each.preference for each in found), ()


def _is_part(said: str, text: str) -> bool:
    if has_cjk(said):
        return len(said) >= _PART_CJK and said in text
    return len(said) >= _PART and re.search(rf"(?<!\w){re.escape(said)}(?!\w)", text) is not None


def _is_about(said: str, asked: Stance, remembered: ParsedPreference) -> bool:
    """True if `asked` covers every condition of the preference. A text that mentions a budget covers conditions on price."""
    conditions = remembered.stance.conditions
    if _BUDGET.search(said):
        conditions = conditions.but("price", "series_price")
    return remembered.is_obeyed and not asked.adds_to(conditions).stated


INPUT = arguments(
    {"preference": argument("string", "Its words or topic, or 'all'.", minLength=1, maxLength=LONGEST)},
    required=["preference"],
)
OUTPUT = answer({"removed": STRINGS, **KEPT}, required=["removed", "preferences"])
NOTHING_LIKE_IT = "Nothing like that is remembered, so nothing was removed. preferences has all that is."
NOTHING_AT_ALL = "Nothing is remembered of this customer's preferences."
REMOVED = "{} removed."
REPEATED = "This call was repeated: it had removed them the first time. Their words are kept nowhere."
MOST_NAMED = 5
SEVERAL = "More than one could be meant, so nothing was removed: ask which, and give its words whole. "


async def forget(context: ToolContext, asked: Json) -> Json:
    """Removes the preferences that the text means, if that is certain, and returns once the store has confirmed it. There
    is no fallback, since only a removal from the store counts. Raises the errors of `change_preferences`."""
    reader, deadline, text = context.store.preference_reader, context.deadline, one_line(asked["preference"])
    chosen: Sequence[Preference] = ()
    candidates: Sequence[Preference] = ()

    async def without_it(before: Preferences) -> Preferences:
        nonlocal chosen, candidates
        asked_for = stance_of(await context.store.reader.read(text, deadline))
        chosen, candidates = match_preferences(text, asked_for, await reader.read_all(before, deadline))
        return tuple(each for each in before if each not in chosen)

    done = await change_preferences(context, without_it)
    note = NOTHING_LIKE_IT if done.after else NOTHING_AT_ALL
    if chosen:  # a number, which stays true if `removed` is shortened later
        note = REMOVED.format(len(chosen)) + ("" if done.no_stale_copy else f" {NOT_EVERYWHERE}")
    elif candidates:
        note = SEVERAL + "; ".join(each.text for each in candidates[:MOST_NAMED])
    return {"removed": [each.text for each in chosen], **list_kept(done.after), "note": note}


def without_words(result: Json) -> Json | None:
    """Returns the answer to a repeat of the call: the result without the customer's words. None if the call removed no
    preference, so that a repeat runs again."""
    if not result["removed"]:
        return None
    return {"removed": [], "preferences": [], "note": f"{result['note']} {REPEATED}", "truncated": True}


TOOL = Tool(
    name="forget_preference",
    title="Forget a preference",
    description="Removes for good what the signed-in customer asked to be remembered. Call it only when they ask for that.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=forget,
    timeout_ms=800,
    check=check_not_blank,
    summary=lambda result: f"{len(result['removed'])} preferences removed",
    personal=True,
    effect=Effect.REMOVES,
    replayed=without_words,
    sheds=worth.FORGOTTEN,
    instead="Say that it cannot be forgotten now, and that the shop's staff can remove it.",
)
