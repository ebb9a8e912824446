"""A customer's stated preferences: a store has them, and Redis a copy that every call reads on its first trip.

The store is the truth. Whoever changes something puts a mark in the copy's place first, which says nothing, then writes the
store, then puts the new copy where their own mark still is; whoever found no copy puts one only where there is nothing. So
what one process has changed, no other goes on obeying for longer than its call under way, whoever else changes it at the
same moment, unless Redis failed just then: then for the rest of the copy's half hour.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from session import keys
from session.failures import MemoryUnavailable
from session.memory import SessionMemory
from session.preferences import Kept, Preference, PreferenceStore, encode, still_kept
from session.redis.keyvalue import TRIP_SECONDS, Command, Evaluation, Step
from session.resilience.clocks import Now, utc_now
from session.resilience.deadline import Deadline
from session.scripts import Script

COPY_SECONDS = 30 * 60
MARK_SECONDS = 15
"""Longer than a change and, after it, a call that had read what was there before."""
ATTEMPTS = 3
"""To write what somebody else, of the same customer, keeps changing at the same moment."""

Preferences = tuple[Preference, ...]
Change = Callable[[Preferences], Awaitable[Preferences]]
"""From what is kept to what is to be kept, the oldest first."""


@dataclass(frozen=True, slots=True)
class Changed:
    """`everywhere`: no copy of what was before is left, so that all processes know at once."""

    before: Preferences
    after: Preferences
    everywhere: bool


class StatedPreferences:
    """Reads and changes them. `memory` has the copies."""

    def __init__(self, store: PreferenceStore, memory: SessionMemory, now: Now = utc_now) -> None:
        self._store = store
        self._memory = memory
        self._now = now
        self._replace = Script.load("replace")

    async def read(self, user: str, deadline: Deadline) -> Preferences:
        """What the store has, the oldest first. Raises what the store raises."""
        return self.current((await self._store.stated(user, deadline)).preferences)

    def current(self, preferences: Preferences) -> Preferences:
        """Those that have not gone by themselves."""
        return still_kept(preferences, self._now())

    def copy(self, user: str, preferences: Preferences) -> Step:
        """The write of what was read, none included, where there is no copy yet."""
        return Command(("SET", keys.preferences(user), encode(preferences), "NX", "EX", COPY_SECONDS))

    async def change(self, user: str, change: Change, deadline: Deadline) -> Changed | None:
        """Returns only when the store has confirmed it; None where others kept changing the same. Raises what the store
        raises: then it is not known whether anything was changed."""
        mark = f"changing:{uuid.uuid4().hex}"
        gone = await self._trip(Command(("SET", keys.preferences(user), mark, "EX", MARK_SECONDS)))
        for _ in range(ATTEMPTS):
            kept = await self._store.stated(user, deadline)
            before = self.current(kept.preferences)
            after = await change(before)
            if after == kept.preferences or await self._store.keep(user, _next(after), kept.revision, deadline):
                put = (mark, encode(after), COPY_SECONDS, MARK_SECONDS)
                told = await self._trip(Evaluation(self._replace, (keys.preferences(user),), put))
                return Changed(before, after, gone or told)
        return None

    async def _trip(self, step: Step) -> bool:
        try:
            await self._memory.background([step], TRIP_SECONDS)
        except MemoryUnavailable:
            return False
        return True


def _next(preferences: Preferences) -> Kept:
    return Kept(preferences, uuid.uuid4().hex if preferences else None)
