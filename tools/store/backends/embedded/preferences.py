"""Stated preferences in this process, for as long as it runs: bounded, and nothing on disk."""

from __future__ import annotations

from dataclasses import dataclass, field

from session.keys import user_hash
from session.preferences import Kept
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
