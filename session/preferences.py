"""Stated preferences: what customers asked to be remembered, in their words: "I don't like gore", 予算は一冊700円まで.

They are personal data of signed-in customers. One expires a year after it was last stated, or when the customer revokes it;
it outlives conversations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

from session.resilience.deadline import Deadline


def check_stored_text(text: str, longest: int, noun: str) -> None:
    """Raises ValueError for a text without 1 to `longest` characters, or with a lone surrogate, which no store can write."""
    if not 0 < len(text) <= longest:
        raise ValueError(f"a {noun} has 1 to {longest} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"half a character in the {noun}") from None


KEPT_DAYS = 365
MOST_KEPT = 20
LONGEST = 200
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@dataclass(frozen=True, slots=True)
class Preference:
    """The customer's words, and the day (UTC, `2026-11-23`) on which they were last stated."""

    text: str
    at: str

    def __post_init__(self) -> None:
        check_stored_text(self.text, LONGEST, "preference")
        if not _DAY.fullmatch(self.at):
            raise ValueError("a day looks like 2026-11-23")
        date.fromisoformat(self.at)

    @classmethod
    def from_text(cls, text: str, moment: datetime) -> Preference:
        return cls(text, moment.astimezone(UTC).date().isoformat())

    @property
    def last_day(self) -> date:
        """The last day on which it is obeyed."""
        return date.fromisoformat(self.at) + timedelta(days=KEPT_DAYS)


def still_kept(preferences: Iterable[Preference], moment: datetime) -> tuple[Preference, ...]:
    """The preferences that have not expired."""
    today = moment.astimezone(UTC).date()
    return tuple(each for each in preferences if each.last_day >= today)


def encode(preferences: Sequence[Preference]) -> bytes:
    """The form of the copy in Redis: JSON pairs of text and day."""
    return json.dumps([(each.text, each.at) for each in preferences], ensure_ascii=False, separators=(",", ":")).encode()


def decode(copy: object) -> tuple[Preference, ...] | None:
    """Decodes a copy; None without one, or for a malformed one."""
    if not isinstance(copy, bytes):
        return None
    try:
        return tuple(Preference(text, at) for text, at in json.loads(copy)[:MOST_KEPT])
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Kept:
    """A person's preferences, the oldest first, and the revision of that state; None where nothing is stored."""

    preferences: tuple[Preference, ...] = ()
    revision: str | None = None


class PreferenceStore(Protocol):
    """Every method answers before the deadline or raises the failure of its backend, under the name "profile"."""

    async def stated(self, user: str, deadline: Deadline) -> Kept:
        """The person's preferences, by a consistent read."""
        ...

    async def keep(self, user: str, kept: Kept, in_place_of: str | None, deadline: Deadline) -> bool:
        """Replaces the state of the revision `in_place_of`; removes the record where there are no preferences. False, and no
        change, where the revision is another by now."""
        ...
