"""Amounts of a unit with what bounds them: "under ten volumes", "5巻以内", "¥600 or less", "between 3 and 5 volumes"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tools.store.models import Range
from tools.store.search.reading.bounds import AFTER, BEFORE, Bound, after_bounds, any_of
from tools.store.search.reading.numbers import NUMBER, value_of

_ABOUT = 0.2
"""How far from the number "about" reaches, as a share of it."""
_TO = r" ?(?:-|~|〜|、|から|to|and|or|through) ?"
_AND = r"(?:,? (?:and|but)|,) "
_PATTERN = (
    r"(?:(?<![a-z])(?:(?P<bound>{before}) ?(?P<first>{number}){and_}(?=(?:{before}) ?{number}))?"
    r"(?:(?P<between>between )|from |of )?(?P<before>{before})? ?)?"
    r"{unit_before}(?P<number>{number})(?P<plus>\+)?(?:(?P<unit>{unit_after})?(?P<to>{to}){unit_before}(?P<other>{number}))?{unit_after}"
    r"(?: ?(?P<after>{after})(?![a-z]))?"
)
_OF_ELSE = re.compile(
    r"(?:\b(?:rated|ratings?|reviewed|scor(?:e|ed|es|ing)|before|after|since|aged?|ages)(?: of| is| at)?"
    r"|評価が?|[0-9¥\\]) ?$"
)
"""Before a number that is none of this unit: "rated 4 | or 10 volumes", "since 2010 | and 10 volumes"."""
_REACH = 16
_FIRST_YEAR = 1900


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
                before=any_of(BEFORE),
                after=after_bounds(NUMBER),
                number=NUMBER,
                to=_TO,
                and_=_AND,
                unit_before=before,
                unit_after=after,
            )
        )
        self._step, self._bare = step, bare

    def find(self, text: str) -> Iterator[Amount]:
        """The amounts in a normalised text, in order."""
        for match in self._pattern.finditer(text):
            yield self._second(match) if _is_the_second_alone(match) else self._amount(match)

    def at(self, text: str, position: int) -> Amount | None:
        """The amount that begins at a position."""
        match = self._pattern.match(text, position)
        return self._amount(match) if match else None

    def _second(self, match: re.Match[str]) -> Amount:
        after = AFTER.get(match["after"] or "")
        range_ = self._bounded(value_of(match["other"]), after or self._bare)
        return Amount(match.start("other"), match.end(), range_, after is not None)

    def _amount(self, match: re.Match[str]) -> Amount:
        stated = any(match[group] is not None for group in ("before", "plus", "other", "after"))
        range_ = self._range(match)
        if match["first"] is None:
            return Amount(match.start(), match.end(), range_, stated)
        both = range_.narrowed(self._bounded(value_of(match["first"]), BEFORE[match["bound"]]))
        if both.empty or range_ == both or _is_of_else(match, match["first"], match["number"], match.start()):
            return Amount(match.start("before"), match.end(), range_, stated)
        return Amount(match.start(), match.end(), both, stated)

    def _range(self, match: re.Match[str]) -> Range:
        number = value_of(match["number"])
        if match["other"] is not None:
            return Range(*sorted((number, value_of(match["other"]))))
        if match["plus"] is not None:
            return self._bounded(number, Bound.LEAST)
        return self._bounded(number, AFTER.get(match["after"] or "") or BEFORE.get(match["before"] or "") or self._bare)

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


def _is_the_second_alone(match: re.Match[str]) -> bool:
    """Of two numbers whether the first is of another unit: "over 4 and 10 volumes" is no range, as "between 4 and 10" is."""
    if match["other"] is None or match["between"] is not None or match["unit"]:
        return False
    joint, start = match["to"].strip(), match.start("before" if match["before"] else "number")
    return joint == "and" or (joint in ("or", "、") and _is_of_else(match, match["number"], match["other"], start))


def _is_of_else(match: re.Match[str], first: str, second: str, start: int) -> bool:
    """Whether the first number belongs to the words before `start`, or is a year as the second is not."""
    if value_of(first) >= _FIRST_YEAR > value_of(second):
        return True
    return _OF_ELSE.search(match.string, max(0, start - _REACH), start) is not None


def worded(numbers: Range, unit: str) -> str:
    """A range in English: "at most 9 volumes"."""
    least, most = (None if bound is None else f"{bound:,g}" for bound in (numbers.least, numbers.most))
    if least is None:
        return f"at most {most} {unit}"
    if most is None:
        return f"at least {least} {unit}"
    return f"{least} {unit.removesuffix('s') if least == '1' else unit}" if least == most else f"{least} to {most} {unit}"
