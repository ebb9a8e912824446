"""Words beside a number that bound it: "at most", "or more", 以内; and which of them may as well begin the next bound."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum


class Bound(Enum):
    """What a word beside a number makes of it."""

    UNDER = "under"
    MOST = "most"
    ABOUT = "about"
    EXACT = "exact"
    LEAST = "least"
    OVER = "over"


_BEFORE = {
    Bound.UNDER: ("under", "less than", "fewer than", "below", "shorter than", "smaller than", "cheaper than", "<"),
    Bound.MOST: (
        *(
            "at most",
            "at the most",
            "at the very most",
            "up to",
            "no more than",
            "not more than",
            "no longer than",
            "not longer than",
            "not over",
            "within",
            "<=",
        ),
        *("a maximum of", "maximum of", "maximum", "max", "no over", "until", "最大", "多くても", "最高でも", "せいぜい"),
    ),
    Bound.ABOUT: ("around", "about", "approximately", "roughly", "some", "circa", "~", "約", "だいたい", "大体", "およそ"),
    Bound.EXACT: ("exactly", "only", "just", "全", "全部で", "ちょうど"),
    Bound.LEAST: (
        *(
            "at least",
            "no less than",
            "no fewer than",
            "not less than",
            "a minimum of",
            "minimum of",
            "minimum",
            "min",
            ">=",
        ),
        *("最低", "少なくとも"),
    ),
    Bound.OVER: ("over", "more than", "longer than", "above", "greater than", "better than", "higher than", ">"),
}
_AFTER = {
    Bound.UNDER: ("未満", "より少ない", "より短い", "より安い", "を切る", "足らず"),
    Bound.MOST: (
        *("or less", "or fewer", "or under", "or shorter", "or below", "or cheaper", "at most", "maximum", "max", "tops"),
        *("at the most", "at the very most", "and under", "and below", "以内", "以下", "までで", "まで", "を超えない"),
    ),
    Bound.ABOUT: ("or so", "くらい", "ぐらい", "程度", "前後", "ほど", "あたり"),
    Bound.EXACT: ("ちょうど", "ぴったり"),
    Bound.LEAST: ("or more", "or longer", "or over", "or above", "or better", "or higher", "and up", "and over", "and above",
                  "at least", "at the least", "at the very least", "minimum", "plus", "以上", "+"),
    Bound.OVER: ("より多い", "より長い", "より高い", "を超える", "超える", "超えの", "超え", "超の", "超"),
}  # fmt: skip


def _bounds(worded: dict[Bound, tuple[str, ...]]) -> dict[str, Bound]:
    return {wording: bound for bound, wordings in worded.items() for wording in wordings}


BEFORE, AFTER = _bounds(_BEFORE), _bounds(_AFTER)
"""What each wording makes of the number that it stands before, or after."""


def any_of(wordings: Iterable[str]) -> str:
    """Source of a pattern of them, the longest first."""
    return "|".join(re.escape(wording) for wording in sorted(wordings, key=len, reverse=True))


def after_bounds(number: str) -> str:
    """Source of a pattern of the wordings after a number; no such is one that bounds the `number` that follows it, as in
    "under 10 volumes | and over 500 yen", "5 volumes | or less than 600 yen", "5 volumes | max 600 yen"."""
    leading = [each for each in AFTER if each.removeprefix("and ").removeprefix("or ") in BEFORE]
    others = [each for each in AFTER if each not in leading]
    return rf"(?:{any_of(leading)})(?! ?(?:¥|\\|jpy |yen ?)?{number})|(?:{any_of(others)})(?! (?:than|to)\b)"
