"""What customers have asked to be remembered of them, in their own words: "I don't like gore", 予算は一冊700円まで.

It is personal data. Only a signed-in person has any. A preference goes by itself a year after it was last stated, or when
the customer says so; the end of a conversation does not take it along. There is no half-remembering: what a customer asked
for holds whole, until it does not.
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
    """Raises ValueError where it has not 1 to `longest` characters, or half of one, which no store can write."""
    if not 0 < len(text) <= longest:
        raise ValueError(f"a {noun} has 1 to {longest} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"half a character in the {noun}") from None


KEPT_DAYS = 365
MOST_KEPT = 20
LONGEST = 200
"""Characters of one."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@dataclass(frozen=True, slots=True)
class Preference:
    """The customer's words, and the day (UTC, `2026-11-23`) on which they were last stated: text that sorts as time does."""

    text: str
    at: str

    def __post_init__(self) -> None:
        check_stored_text(self.text, LONGEST, "preference")
        if not _DAY.fullmatch(self.at):
            raise ValueError("a day looks like 2026-11-23")
        date.fromisoformat(self.at)

    @classmethod
    def stated(cls, text: str, moment: datetime) -> Preference:
        return cls(text, moment.astimezone(UTC).date().isoformat())

    @property
    def last_day(self) -> date:
        """The last one on which it is obeyed."""
        return date.fromisoformat(self.at) + timedelta(days=KEPT_DAYS)


def still_kept(preferences: Iterable[Preference], moment: datetime) -> tuple[Preference, ...]:
    """Those that have not gone by themselves."""
    today = moment.astimezone(UTC).date()
    return tuple(each for each in preferences if each.last_day >= today)


def encode(preferences: Sequence[Preference]) -> bytes:
    """The form of the copy: JSON pairs of text and day."""
    return json.dumps([(each.text, each.at) for each in preferences], ensure_ascii=False, separators=(",", ":")).encode()


def decode(copy: object) -> tuple[Preference, ...] | None:
    """None where there is no copy, or none that `encode` could have made."""
    if not isinstance(copy, bytes):
        return None
    try:
        return tuple(Preference(text, at) for text, at in json.loads(copy)[:MOST_KEPT])
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Kept:
    """All that is kept for a person, the oldest first. `revision` names the state it is in, None where nothing is kept."""

    preferences: tuple[Preference, ...] = ()
    revision: str | None = None


class PreferenceStore(Protocol):
    """Every method answers before the deadline or raises the failure of its backend, under the name "profile"."""

    async def stated(self, user: str, deadline: Deadline) -> Kept:
        """What is kept for a person, what was written a moment ago included."""
        ...

    async def keep(self, user: str, kept: Kept, in_place_of: str | None, deadline: Deadline) -> bool:
        """Puts it there in place of the state of that revision; of no preferences nothing is left. False, and nothing is
        changed, where that is no longer the state."""
        ...
