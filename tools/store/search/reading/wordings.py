"""A kind of claim that is a few patterns, each of which states one thing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tools.store.models import Conditions, Ordering
from tools.store.search.reading.claim import NOTHING, Claim, Find

WORK = r"(?:mangas?|comics?|series|titles?|books?|ones?|works?|reads?|stor(?:y|ies)|tales?)"
"""Source of a pattern of the English words for what a shop of manga sells."""
NEAR = r"(?= (?:[a-z'-]{1,20} ){0,2}" + WORK + r"\b)"
"""Follows an adjective that says something of a work only before a word for it, with two words between at most: "short
romance manga", not "short hair"."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What the words that `pattern` matches state."""

    pattern: re.Pattern[str]
    says: str
    conditions: Conditions = NOTHING
    ordering: Ordering | None = None
    obeyed: bool = True
    loose: bool = False

    def claims(self, text: str) -> Iterator[Claim]:
        for match in self.pattern.finditer(text):
            yield Claim(*match.span(), self.says, self.conditions, self.ordering, obeyed=self.obeyed, loose=self.loose)


def finding(*wordings: Wording) -> Find:
    """A finder of all that is worded so."""

    def find(text: str) -> Iterator[Claim]:
        for wording in wordings:
            yield from wording.claims(text)

    return find
