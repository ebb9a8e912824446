"""The claims that a text makes, and which of them hold where their words overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tools.store.search.reading.claim import Claim, Find
from tools.store.search.reading.spelling import Spelling

LONGEST = 500
"""Characters of a text that are read."""
MOST_CLAIMS = 32
"""Claims of a text that are weighed: nobody says more."""


def claims_of(text: str, finders: Sequence[Find]) -> tuple[Claim, ...]:
    """All that the finders see in a normalised text, the weightiest first: the longest, then the earliest in the text, then
    that of the earlier finder."""
    spelling = Spelling.of(text)
    found = [claim for find in finders for claim in find(spelling.text) if claim.end > claim.start]
    placed = [_placed(spelling, _trimmed(spelling.text, claim)) for claim in found]
    return tuple(sorted(placed, key=lambda claim: (claim.start - claim.end, claim.start))[:MOST_CLAIMS])


def _placed(spelling: Spelling, claim: Claim) -> Claim:
    start, end = spelling.span(claim.start, claim.end)
    return claim if (start, end) == (claim.start, claim.end) else replace(claim, start=start, end=end)


def _trimmed(text: str, claim: Claim) -> Claim:
    words = text[claim.start : claim.end]
    start, end = claim.start + len(words) - len(words.lstrip()), claim.end - len(words) + len(words.rstrip())
    return claim if (start, end) == (claim.start, claim.end) else replace(claim, start=start, end=end)


def apart(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """The claims whose words are nobody's before them, in the order of the text."""
    kept: list[Claim] = []
    for claim in claims:
        if all(claim.end <= other.start or other.end <= claim.start for other in kept):
            kept.append(claim)
    return tuple(sorted(kept, key=lambda claim: claim.start))
