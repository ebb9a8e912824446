"""What a call's customer has asked to be remembered, for the tools that obey it.

The copy in Redis comes with the call's first trip; where there is none the store is asked. What was cached is found on the
same trip, under a name that what is remembered is a part of: the name is made of what this process saw of the customer last,
and where that was wrong what was found is left.
"""

from __future__ import annotations

from dataclasses import replace

from server.call import Call
from session import keys
from session.begin import Begun
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from session.result_cache import digest
from session.stated_preferences import Preferences
from tools.store.failures import BackendFailure
from tools.store.store import Store

STORE_SECONDS = 0.06
"""What a call waits for the store, once in half an hour: a read takes five milliseconds."""
SHARE = 1 / 4
"""Of what is left of the turn at most."""
CUSTOMERS = 5_000
DEGRADED = "preferences"


class Stated:
    """Gives each call the preferences of its customer. Of those who have any, only a hash of them is kept in mind."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: Lru[str, str] = Lru(CUSTOMERS)

    def expect(self, call: Call) -> None:
        """Names what the call obeys as this process saw it last."""
        if heeds(call):
            call.obeys = self._seen.use(keys.user_hash(call.customer)) or ""

    async def give(self, call: Call, begun: Begun) -> Begun:
        """Sets what the call obeys, and leaves what was found in the cache for anything else. Where nobody can tell, the
        call goes on without, and says so."""
        if not heeds(call) or call.customer is None:
            return begun
        expected = call.obeys
        if begun.preferences is not None:
            call.preferences = self._store.preferences.current(begun.preferences)
        else:
            await self._ask(call, call.customer, begun)
        call.obeys = mark(call.preferences)
        self._seen.put(keys.user_hash(call.customer), call.obeys)
        return begun if call.obeys == expected else replace(begun, cached=None)

    async def _ask(self, call: Call, user: str, begun: Begun) -> None:
        seconds = min(STORE_SECONDS, SHARE * max(0, begun.turn.remaining_ms()) / 1000)
        deadline = Deadline.after(seconds, call.clock).inside(call.interval)
        try:
            call.preferences = await self._store.preferences.read(user, deadline)
        except BackendFailure:
            call.degraded.add(DEGRADED)
        else:
            call.pending_writes.append(self._store.preferences.copy(user, call.preferences))


def heeds(call: Call) -> bool:
    """Whether there may be anything that the call has to obey."""
    return call.tool.tool.obeys_preferences and call.customer is not None


def mark(preferences: Preferences) -> str:
    """Stands for the words; "" for none, so that all who have none share what is cached."""
    return digest(*(each.text for each in preferences)) if preferences else ""
