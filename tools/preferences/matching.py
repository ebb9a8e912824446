"""Which of what is kept a customer means: by its words, by a part of them, or by what it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from session.preferences import Preference
from tools.store.preferences.reader import Heard
from tools.store.preferences.stance import Stance
from tools.store.search.text.characters import has_cjk, normalise

ALL = re.compile(r"all|everything|全部|すべて|全て|ぜんぶ")
_BUDGET = re.compile(r"\b(?:budget|price|spend)\b|予算|値段|価格")
_PART, _PART_CJK = 3, 2
"""Characters from which on a part of a preference may stand for it."""


@dataclass(frozen=True, slots=True)
class Meant:
    """`several`: more than one could be meant, and none is taken."""

    preferences: tuple[Preference, ...] = ()
    several: tuple[Preference, ...] = ()


def meant(text: str, asked: Stance, kept: Sequence[Heard]) -> Meant:
    """`asked` is what the text states by itself."""
    said = normalise(text)
    if ALL.fullmatch(said):
        return Meant(tuple(each.preference for each in kept))
    same = [each for each in kept if normalise(each.preference.text) == said]
    if same:
        return Meant(tuple(each.preference for each in same))
    parts = [each for each in kept if _is_part(said, normalise(each.preference.text))]
    if len(parts) > 1:
        return Meant(several=tuple(each.preference for each in parts))
    found = parts or [each for each in kept if _is_about(said, asked, each)]
    return Meant(tuple(each.preference for each in found))


def _is_part(said: str, text: str) -> bool:
    if has_cjk(said):
        return len(said) >= _PART_CJK and said in text
    return len(said) >= _PART and re.search(rf"(?<!\w){re.escape(said)}(?!\w)", text) is not None


def _is_about(said: str, asked: Stance, kept: Heard) -> bool:
    """Whether all that it states is what is asked about: the same conditions, the themes that are named, the budget."""
    conditions = kept.stance.conditions
    if _BUDGET.search(said):
        conditions = conditions.but("price", "series_price")
    return kept.obeyed and not asked.adds_to(conditions).stated
