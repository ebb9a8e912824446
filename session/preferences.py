"""Stated preferences: statements that customers ask the store to remember, such as "I don't like gore".

Preferences are personal data of signed-in customers, and outlive conversations. Each is kept for a year after it was last
stated, or until the customer revokes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

from session.resilience.deadline import Deadline


def check_stored_text(text: str, longest: int, noun: str) -> None:
    """Raises ValueError, with `noun` as the text's name, if the text is empty, longer than `longest` characters, or has a
    lone surrogate, which no store can write."""
    if not 0 < len(text) <= longest:
        raise ValueError(f"a {noun} has 1 to {longest} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"half a character in the {noun}") from None


KEPT_DAYS = 365
MOST_KEPT = 20
LONGEST = 200


@dataclass(frozen=True, slots=True)
class Preference:
    """Stated preference: `text` in the customer's words, and the day `at` (UTC, as `2026-11-23`) on which it was last
    stated. Raises ValueError for a malformed text or day."""

    text: str
    at: str

    def __post_init__(self) -> None:
        check_stored_text(self.text, LONGEST, "preference")
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", self.at, re.ASCII):
            raise ValueError("a day looks like 2026-11-23")
        date.fromisoformat(self.at)

    @classmethod
    def from_text(cls, text: str, moment: datetime) -> Preference:
        return cls(text, moment.astimezone(UTC).date().isoformat())

    @property
    def last_day(self) -> date:
        return date.fromisoformat(self.at) + timedelta(days=KEPT_DAYS)


def still_kept(preferences: Iterable[Preference], moment: datetime) -> tuple[Preference, ...]:
    today = moment.astimezone(UTC).date()
    return tuple(each for each in preferences if each.last_day >= today)


def encode(preferences: Sequence[Preference]) -> bytes:
    return json.dumps([(each.text, each.at) for each in preferences], ensure_ascii=False, separators=(",", ":")).encode()


def decode(copy: object) -> tuple[Preference, ...] | None:
    """Parses the copy from Redis, with at most `MOST_KEPT` preferences; None if it is missing or malformed."""
    if not isinstance(copy, bytes):
        return None
    try:
        return tuple(Preference(text, at) for text, at in json.loads(copy)[:MOST_KEPT])
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class StoredPreferences:
    """A customer's stored preferences, oldest first, and their revision, which is None if nothing is stored."""

    preferences: tuple[Preference, ...] = ()
    revision: str | None = None


class PreferenceStore(Protocol):
    """Store of preferences. Its methods answer by the deadline, or raise a `BackendFailure` of the dependency "profile"."""

    async def stated(self, user: str, deadline: Deadline) -> StoredPreferences:
        """Reads the customer's preferences, also expired ones, with a consistent read."""
        ...

    async def keep(self, user: str, kept: StoredPreferences, in_place_of: str | None, deadline: Deadline) -> bool:
        """Replaces the preferences if the stored revision is still `in_place_of` (None: nothing stored); removes the record
        if `kept` has no preferences. Returns False, without a change, if another write has changed the revision."""
        ...
