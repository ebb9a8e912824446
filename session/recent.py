"""What this process knows by itself of the last searches: for when Redis is away, and for what it did not take.

It only fills gaps. Another process has no part in it, and what Redis remembers counts for more, unless this process knows
that a later search never got there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from session.begin import BeginRequest, Begun
from session.deadline import Clock
from session.latest import Latest

CAPACITY = 5_000
SECONDS = 30 * 60.0


@dataclass(slots=True)
class _Search:
    ids: tuple[str, ...]
    turn: str
    made_at: float
    written: bool = False


class RecentSearches:
    """The last search of each of the latest conversations, and the latest result sets."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._searches: Latest[tuple[str, str | None], _Search] = Latest(CAPACITY)
        self._sets: Latest[str, tuple[str, ...]] = Latest(CAPACITY)

    def keep(self, request: BeginRequest, title_ids: Sequence[str], set_key: str) -> None:
        """A call's search, not yet written."""
        ids = tuple(title_ids)
        self._sets.put(set_key, ids)
        if request.session is not None:
            self._searches.put((request.session, request.user), _Search(ids, request.turn.key, self._clock()))

    def written(self, request: BeginRequest) -> None:
        """What a call left has been confirmed."""
        if request.session is not None and (search := self._searches.peek((request.session, request.user))):
            search.written = search.written or search.turn == request.turn.key

    def forget(self, session: str, user: str | None) -> None:
        self._searches.pop((session, user))

    def fill(self, request: BeginRequest, begun: Begun) -> Begun:
        """What Redis did not say and this process knows."""
        if request.result_set is not None and begun.result_set is None:
            begun = replace(begun, result_set=self._sets.use(request.result_set))
        search = self._searches.use((request.session, request.user)) if request.session is not None else None
        if search is None or self._clock() - search.made_at > SECONDS:
            return begun
        # A conversation that Redis has forgotten is over, but not in the middle of a turn.
        lost = not begun.last_ids and search.turn == request.turn.key
        return replace(begun, last_ids=search.ids) if begun.degraded or lost or not search.written else begun
