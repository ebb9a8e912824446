"""What is remembered of a person beyond a conversation: what they looked for and viewed, for half a year. What they ordered
is not told here a second time: it is read of their orders.

It is personal data. Only a signed-in person has a profile. It is kept under a hash of who they are; every event of it goes
by itself after `KEPT_DAYS`, and `forget` removes all of it at once. The end of a conversation does not: it outlives many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Protocol

from session.preferences import check_stored_text
from session.resilience.deadline import Deadline

KEPT_DAYS = 180
RECALLED = 100
"""Events that a recall answers at most, the latest ones."""

LONGEST_SUBJECT = 500
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


class EventKind(StrEnum):
    """`subject` of an event is the words of a search, or the id of a title viewed."""

    SEARCHED = "searched"
    VIEWED = "viewed"


@dataclass(frozen=True, slots=True)
class Event:
    """`at` is UTC in milliseconds (`2026-11-02T09:30:00.000Z`), so that text sorts as time does."""

    kind: EventKind
    subject: str
    at: str

    def __post_init__(self) -> None:
        check_stored_text(self.subject, LONGEST_SUBJECT, "subject")
        if not _TIME.fullmatch(self.at):
            raise ValueError("a time looks like 2026-11-02T09:30:00.000Z")
        datetime.fromisoformat(self.at)

    @classmethod
    def happened(cls, kind: EventKind, subject: str, moment: datetime) -> Event:
        """An event at a moment; a longer subject is cut."""
        return cls(kind, subject[:LONGEST_SUBJECT], written(moment))

    def days_old(self, now: datetime) -> float:
        """At `now`; what a clock elsewhere dated into the future is new."""
        return max(0.0, (now - datetime.fromisoformat(self.at)) / timedelta(days=1))


def written(moment: datetime) -> str:
    """A time as events carry it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a person, latest first; nothing for somebody new."""

    events: tuple[Event, ...] = ()

    def last(self, kind: EventKind) -> tuple[Event, ...]:
        """Of one kind, for each subject the last event, latest first."""
        found: dict[str, Event] = {}
        for event in self.events:
            if event.kind is kind:
                found.setdefault(event.subject, event)
        return tuple(found.values())


def latest(events: Iterable[Event]) -> tuple[Event, ...]:
    """Those a recall answers: each once, latest first, at most `RECALLED`."""
    return tuple(sorted(set(events), key=sort_key, reverse=True)[:RECALLED])


def sort_key(event: Event) -> tuple[str, str, str]:
    """What events are sorted by: their time, and something that settles ties."""
    return event.at, event.kind, event.subject


class ProfileStore(Protocol):
    """Every method answers before the deadline or raises the failure of its backend, under the name "profile"."""

    async def remember(self, entries: Sequence[tuple[str, Event]], deadline: Deadline) -> None:
        """Adds events, each to the profile of its user; the same one told twice counts once. What fails may have added a
        part."""
        ...

    async def recall(self, user: str, deadline: Deadline) -> Profile:
        """The latest events that are not older than `KEPT_DAYS`."""
        ...

    async def forget(self, user: str, deadline: Deadline) -> None:
        """Removes everything that was remembered of the person. May be repeated; one that failed has removed a part."""
        ...
