"""Amounts of a unit with what bounds them: "under ten volumes", "5巻以内", "¥600 or less", "between 3 and 5 volumes"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tools.store.models import Range
from tools.store.search.reading.numbers import NUMBER, value_of

_ABOUT = 0.2
"""How far from the number "about" reaches, as a share of it."""


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


def _any_of(worded: dict[str, Bound]) -> str:
    return "|".join(re.escape(wording) for wording in sorted(worded, key=len, reverse=True))


_BEFORE_BOUNDS, _AFTER_BOUNDS = _bounds(_BEFORE), _bounds(_AFTER)
_TO = r" ?(?:-|~|〜|、|から|to|and|or|through) ?"
_PATTERN = (
    r"(?:(?<![a-z])(?:between |from |of )?(?P<before>{before})? ?)?"
    r"{unit_before}(?P<number>{number})(?P<plus>\+)?(?:(?:{unit_after})?{to}{unit_before}(?P<other>{number}))?{unit_after}"
    r"(?: ?(?P<after>{after})(?![a-z]))?"
)


@dataclass(frozen=True, slots=True)
class Amount:
    """`stated`: whether a word beside the number, or a second number, bounds it; "ten volumes" alone does not."""

    start: int
    end: int
    range: Range
    stated: bool


class Amounts:
    """Finds amounts of one unit, which stands before the number or after it (sources of patterns, no named groups).

    `step` is the least difference that counts: what is under ten volumes has at most nine. `bare` is what a number without a
    bounding word means.
    """

    def __init__(self, *, before: str = "", after: str = "", step: float = 1, bare: Bound = Bound.EXACT) -> None:
        self._pattern = re.compile(
            _PATTERN.format(
                before=_any_of(_BEFORE_BOUNDS),
                after=_any_of(_AFTER_BOUNDS),
                number=NUMBER,
                to=_TO,
                unit_before=before,
                unit_after=after,
            )
        )
        self._step, self._bare = step, bare

    def find(self, text: str) -> Iterator[Amount]:
        """The amounts in a normalised text, in order."""
        return map(self._amount, self._pattern.finditer(text))

    def at(self, text: str, position: int) -> Amount | None:
        """The amount that begins at a position."""
        match = self._pattern.match(text, position)
        return self._amount(match) if match else None

    def _amount(self, match: re.Match[str]) -> Amount:
        stated = any(match[group] is not None for group in ("before", "plus", "other", "after"))
        return Amount(match.start(), match.end(), self._range(match), stated)

    def _range(self, match: re.Match[str]) -> Range:
        number = value_of(match["number"])
        if match["other"] is not None:
            return Range(*sorted((number, value_of(match["other"]))))
        if match["plus"] is not None:
            return self._bounded(number, Bound.LEAST)
        said = _AFTER_BOUNDS.get(match["after"] or "") or _BEFORE_BOUNDS.get(match["before"] or "") or self._bare
        return self._bounded(number, said)

    def _bounded(self, number: float, bound: Bound) -> Range:
        match bound:
            case Bound.UNDER:
                return Range(None, round(number - self._step, 2))
            case Bound.MOST:
                return Range(None, number)
            case Bound.ABOUT:
                return Range(round(number * (1 - _ABOUT)), round(number * (1 + _ABOUT)))
            case Bound.LEAST:
                return Range(number, None)
            case Bound.OVER:
                return Range(round(number + self._step, 2), None)
            case _:
                return Range(number, number)


def worded(numbers: Range, unit: str) -> str:
    """A range in English: "at most 9 volumes"."""
    least, most = (None if bound is None else f"{bound:,g}" for bound in (numbers.least, numbers.most))
    if least is None:
        return f"at most {most} {unit}"
    if most is None:
        return f"at least {least} {unit}"
    return f"{least} {unit.removesuffix('s') if least == '1' else unit}" if least == most else f"{least} to {most} {unit}"
