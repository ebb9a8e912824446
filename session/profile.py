"""Long-term profiles: the searches and viewed titles of signed-in customers. Purchases are read from orders instead.

Profiles are personal data, stored under a hash of the user. Each event expires after `KEPT_DAYS`; `forget` removes a whole
profile at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from session.preferences import check_stored_text

KEPT_DAYS = 180
RECALLED = 100
"""Most events that `recall` returns: the latest."""

LONGEST_SUBJECT = 500


class EventKind(StrEnum):
    """Kind of an event. The event's subject is the words of a search, or the id of a viewed title."""

    SEARCHED = "searched"
    VIEWED = "viewed"


@dataclass(frozen=True, slots=True)
class Event:
    """One search or view. `at` is UTC with milliseconds (`2026-11-02T09:30:00.000Z`) and sorts as text. Raises ValueError
    for a malformed subject or time."""

    kind: EventKind
    subject: str
    at: str

    def __post_init__(self) -> None:
        check_stored_text(self.subject, LONGEST_SUBJECT, "subject")
        if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", self.at, re.ASCII):
            raise ValueError("a time looks like 2026-11-02T09:30:00.000Z")
        datetime.fromisoformat(self.at)

    @classmethod
    def make_event(cls, kind: EventKind, subject: str, moment: datetime) -> Event:
        """Makes an event, with its subject cut to `LONGEST_SUBJECT` characters."""
        return cls(kind, subject[:LONGEST_SUBJECT], format_moment(moment))

    def days_old(self, now: datetime) -> float:
        """Returns the event's age in days; 0 if it lies in the future."""
        return max(0.0, (now - datetime.fromisoformat(self.at)) / timedelta(days=1))


def format_moment(moment: datetime) -> str:
    """Formats a time as events store it: UTC with milliseconds, such as `2026-11-02T09:30:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Profile:
    """A customer's events, latest first."""

    events: tuple[Event, ...] = ()

    def last(self, kind: EventKind) -> tuple[Event, ...]:
        """Returns the latest event of this kind for each subject, latest first."""
        found: dict[str, Event] = {}
        for event in self.events:
            if event.kind is kind:
                found.setdefault(event.subject, event)
        return tuple(found.values())


def latest(events: Iterable[Event]) -> tuple[Event, ...]:
    """Returns the distinct events, latest first, at most `RECALLED`."""
    distinct = sorted(set(events), key=lambda event: (event.at, event.kind, event.subject), reverse=True)
    return tuple(distinct[:RECALLED])
