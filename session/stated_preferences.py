"""Customers' stated preferences: stored in the profile store, with a copy in Redis that a call's first round trip reads.

The store is authoritative. A change replaces the copy with a marker, writes the store, then replaces its own marker with the
new copy. A reader stores a copy only if Redis has neither copy nor marker. So other processes see a change at their next
call, or, if Redis failed during the change, once the old copy has expired (half an hour)."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from session import keys
from session.memory import SessionMemory
from session.preferences import Preference, PreferenceStore, StoredPreferences, encode, still_kept
from session.redis.keyvalue import Command, Evaluation, Step
from session.resilience.clocks import Now, utc_now
from session.resilience.deadline import Deadline
from session.scripts import Script

COPY_SECONDS = 30 * 60
MARK_SECONDS = 15
"""Lifetime of a marker. Longer than a change takes, and than a call takes that has read the store before the change."""
ATTEMPTS = 3
"""Most attempts of one change, if each is overtaken by another change of the same preferences."""

Preferences = tuple[Preference, ...]
Change = Callable[[Preferences], Awaitable[Preferences]]
"""Computes the new preferences from the present ones, both with the oldest first."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A completed change. `no_stale_copy`: Redis holds no old copy, so the change applies in all processes at once."""

    before: Preferences
    after: Preferences
    no_stale_copy: bool


class StatedPreferences:
    def __init__(self, store: PreferenceStore, memory: SessionMemory, now: Now = utc_now) -> None:
        self._store = store
        self._memory = memory
        self._now = now
        self._copy, self._replace = Script.load("copy"), Script.load("replace")

    async def read(self, user: str, deadline: Deadline) -> Preferences:
        """Reads the unexpired preferences from the store, oldest first. Raises `BackendFailure`."""
        return self.current((await self._store.stated(user, deadline)).preferences)

    def current(self, preferences: Preferences) -> Preferences:
        return still_kept(preferences, self._now())

    def copy(self, user: str, preferences: Preferences) -> Step:
        """Returns the command that stores a copy in Redis, even if there are no preferences. The command does nothing if
        Redis has a copy or a marker."""
        return Evaluation(self._copy, (keys.preferences(user),), (encode(preferences), COPY_SECONDS))

    async def change(self, user: str, change: Change, deadline: Deadline) -> Changed | None:
        """Stores the preferences that `change` returns, and returns those before and after. If another change comes
        first, calls `change` again; returns None if `ATTEMPTS` calls were in vain. Raises the errors of `change` and of
        the store; the change may be stored despite an error of the store."""
        mark = f"changing:{uuid.uuid4().hex}"
        gone = await self._memory.end([Command(("SET", keys.preferences(user), mark, "EX", MARK_SECONDS))])
        for _ in range(ATTEMPTS):
            kept = await self._store.stated(user, deadline)
            before = self.current(kept.preferences)
            after = await change(before)
            if after == kept.preferences or await self._store.keep(
                user, StoredPreferences(after, uuid.uuid4().hex if after else None), kept.revision, deadline
            ):
                put = (mark, encode(after), COPY_SECONDS, MARK_SECONDS)
                told = await self._memory.end([Evaluation(self._replace, (keys.preferences(user),), put)])
                return Changed(before, after, gone or told)
        return None
