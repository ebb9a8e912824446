"""How good an answer is: conditions satisfied among the first five, and the place of a title that was named."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

DEPTH = 5


@dataclass(frozen=True, slots=True)
class Shown:
    """What a tool answered: ids, best first; whether it says that it relaxed a condition; and how many of the first five are
    known to be what the query excludes."""

    title_ids: tuple[str, ...]
    relaxed: bool = False
    excluded: int = 0


def satisfied(shown: Shown, fits: Collection[str]) -> float:
    """The share of the first five that fit. Where five or more fit, each of five that is not shown is a wrong one. Where
    nothing fits, it is right to show nothing, or to say what was relaxed, as long as no exclusion was."""
    first = shown.title_ids[:DEPTH]
    if not fits:
        return float(not first or (shown.relaxed and not shown.excluded))
    if not first:
        return 0.0
    expected = DEPTH if len(fits) >= DEPTH else len(first)
    return sum(each in fits for each in first) / expected


def reciprocal_rank(found: Sequence[str], named: Collection[str]) -> float:
    """1 when the named title is first, 1/2 when it is second, 0 when it is not there."""
    return next((1 / place for place, each in enumerate(found, 1) if each in named), 0.0)
