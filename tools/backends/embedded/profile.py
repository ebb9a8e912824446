"""Long-term profiles in this process, for as long as it runs: bounded, and nothing on disk."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from session.deadline import Deadline
from session.keys import user_hash
from session.profile import KEPT_DAYS, Event, Profile, latest, written
from tools.failures import TimedOut


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


@dataclass(slots=True)
class EmbeddedProfiles:
    """`session.profile.ProfileStore`: the latest events of the `people` who were last heard of."""

    people: int = 10_000
    clock: Callable[[], datetime] = utc_now
    _events: OrderedDict[str, tuple[Event, ...]] = field(default_factory=OrderedDict)

    async def remember(self, user: str, event: Event, deadline: Deadline) -> None:
        """Adds an event; the same one told twice counts once."""
        _in_time(deadline)
        key = user_hash(user)
        self._events[key] = latest((*self._events.get(key, ()), event))
        self._events.move_to_end(key)
        while len(self._events) > self.people:
            self._events.popitem(last=False)

    async def recall(self, user: str, deadline: Deadline) -> Profile:
        """The latest events that are still kept."""
        _in_time(deadline)
        oldest = written(self.clock() - timedelta(days=KEPT_DAYS))
        return Profile(tuple(event for event in self._events.get(user_hash(user), ()) if event.at >= oldest))

    async def forget(self, user: str, deadline: Deadline) -> None:
        """Removes everything that was remembered of the person."""
        _in_time(deadline)
        self._events.pop(user_hash(user), None)


def _in_time(deadline: Deadline) -> None:
    if deadline.expired():
        raise TimedOut("The profile did not answer in time.", dependency="profile")
