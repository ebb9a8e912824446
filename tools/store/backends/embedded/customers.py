"""Long-term profiles in this process, for as long as it runs: bounded, and nothing on disk."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from session.keys import user_hash
from session.preferences import Kept
from session.profile import KEPT_DAYS, RECALLED, Event, Profile, sort_key, written
from session.resilience.clocks import Now, utc_now
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.failures import TimedOut
from tools.store.models import Health

NOTHING = Kept()


@dataclass(slots=True)
class EmbeddedPreferences:
    """`tools.store.ports.PreferencesPort`: those of the `people` who were last heard of."""

    people: int = 1_000
    _kept: Lru[str, Kept] = field(init=False)

    def __post_init__(self) -> None:
        self._kept = Lru(self.people)

    async def stated(self, user: str, deadline: Deadline) -> Kept:
        """What is kept for a person."""
        _in_time(deadline)
        return self._kept.use(user_hash(user)) or NOTHING

    async def keep(self, user: str, kept: Kept, in_place_of: str | None, deadline: Deadline) -> bool:
        """Puts it in place of the state of that revision."""
        _in_time(deadline)
        own = user_hash(user)
        if (self._kept.peek(own) or NOTHING).revision != in_place_of:
            return False
        if kept.preferences:
            self._kept.put(own, kept)
        else:
            self._kept.pop(own)
        return True

    async def health(self, deadline: Deadline) -> Health:
        """Always well."""
        return Health(ok=True, detail="in this process")


def _in_time(deadline: Deadline) -> None:
    if deadline.expired():
        raise TimedOut("The preferences did not answer in time.", dependency="profile")


@dataclass(slots=True)
class EmbeddedProfiles:
    """`tools.store.ports.ProfilePort`: the latest events of the `people` who were last heard of."""

    people: int = 1_000
    clock: Now = utc_now
    _events: Lru[str, list[Event]] = field(init=False)
    """Of each person the oldest first."""

    def __post_init__(self) -> None:
        self._events = Lru(self.people)

    async def remember(self, entries: Sequence[tuple[str, Event]], deadline: Deadline) -> None:
        """Adds events, each to the profile of its user; the same one told twice counts once."""
        _profile_in_time(deadline)
        for user, event in entries:
            self._add(user_hash(user), event)

    def _add(self, key: str, event: Event) -> None:
        events = self._events.peek(key) or []
        self._events.put(key, events)
        where = bisect_left(events, sort_key(event), key=sort_key)
        if events[where : where + 1] != [event]:
            events.insert(where, event)
        del events[:-RECALLED]

    async def recall(self, user: str, deadline: Deadline) -> Profile:
        """The latest events that are still kept."""
        _profile_in_time(deadline)
        oldest = written(self.clock() - timedelta(days=KEPT_DAYS))
        return Profile(tuple(event for event in reversed(self._events.use(user_hash(user)) or []) if event.at >= oldest))

    async def forget(self, user: str, deadline: Deadline) -> None:
        """Removes everything that was remembered of the person."""
        _profile_in_time(deadline)
        self._events.pop(user_hash(user))

    async def health(self, deadline: Deadline) -> Health:
        """Always well."""
        return Health(ok=True, detail="in this process")


def _profile_in_time(deadline: Deadline) -> None:
    if deadline.expired():
        raise TimedOut("The profile did not answer in time.", dependency="profile")
