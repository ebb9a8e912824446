"""What is said not to be: "not finished", "no one-shots", "nothing before 2000", 連載中以外.

The opposite of a condition is stated where facts can hold it; where they cannot, that is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tools.store.models import DIGITAL, PAPER, Conditions, Range, Status
from tools.store.search.reading.claim import Claim, Find
from tools.store.search.reading.optional import unneeded

_REACH = 28
_BEFORE = re.compile(
    r"(?:\b(?:not|no|nothing|none|non|without|avoid|except(?: for)?|excluding|exclude|other than|isn't|aren't|is not"
    r"|are not|wasn't"
    r"|don't want|do not want|hate|dislike|(?:don't|do not) (?:like|care for)|shouldn't|mustn't|rather not"
    r"|anything but)(?: (?:any|anything|a|an|the|too|that|is|are|from|have"
    r"|has|to be|been|very|so|really|be)){0,3}[ -])$"
)
_AFTER = re.compile(
    r"(?:の|な)?(?:もの|漫画|マンガ|作品|やつ|シリーズ)?(?:は|が)?"
    r"(?:以外の?|じゃない|ではない|でない|じゃなくて|ではなく|なし(?:で|の)?|抜き(?:で|の)?|を?除[くい]た?|除外"
    r"|避けたい|嫌|いや|苦手|NG|お断り)"
)


def negatable(find: Find) -> Find:
    """A finder of the same, and of its opposite where it is denied."""

    def finds(text: str) -> Iterator[Claim]:
        for claim in find(text):
            span = denial(text, claim.start, claim.end)
            yield _denied(claim, *span) if span else claim

    return finds


def denial(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the words `text[start:end]` and those that deny them stand; None where nothing does, or they are only said to be
    no requirement."""
    before = _BEFORE.search(text, max(0, start - _REACH), start)
    after = _AFTER.match(text, end)
    if (not before and not after) or unneeded(text, start, end):
        return None
    return before.start() if before else start, after.end() if after else end


def _denied(claim: Claim, start: int, end: int) -> Claim:
    opposite = _opposite(claim.conditions)
    says = claim.says.removeprefix("not ") if claim.says.startswith("not ") else f"not {claim.says}"
    return replace(
        claim,
        start=start,
        end=end,
        says=says,
        conditions=opposite or Conditions(),
        ordering=None,
        obeyed=opposite is not None,
    )


def _opposite(asked: Conditions) -> Conditions | None:
    """None where facts cannot hold it, as that a title is not of the nineties."""
    if len(asked.stated) != 1:
        return None
    name = asked.stated[0]
    opposite = _OPPOSITES[name](getattr(asked, name)) if name in _OPPOSITES else None
    return None if opposite is None else Conditions(**{_RENAMED.get(name, name): opposite})


def _other_statuses(statuses: tuple[Status, ...]) -> tuple[Status, ...]:
    return tuple(status for status in Status if status not in statuses)


def _beyond(numbers: Range) -> Range | None:
    if numbers.least is None and numbers.most is not None:
        return Range(numbers.most + 1, None)
    return Range(None, numbers.least - 1) if numbers.most is None and numbers.least is not None else None


_OPPOSITES: dict[str, Callable[..., Any]] = {
    "statuses": _other_statuses,
    **dict.fromkeys(("volumes", "years", "price", "series_price"), _beyond),
    "format": {PAPER: DIGITAL, DIGITAL: PAPER}.get,
    "tags": lambda groups: groups[0],
}
_RENAMED = {"tags": "without_tags"}
