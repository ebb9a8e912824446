"""What this process knows by itself of what was shown last: for when Redis is away, and for what it did not take.

It only fills gaps. Another process has no part in it, and what Redis remembers counts for more, unless this process knows
that something later never got there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from session.begin import BeginRequest, Begun
from session.history import LastShown
from session.resilience.clocks import Clock
from session.resilience.lru import Lru

CAPACITY = 5_000
SECONDS = 30 * 60.0


@dataclass(slots=True)
class _Shown:
    last: LastShown
    turn: str
    made_at: float
    written: bool = False


class RecentSearches:
    """What each of the latest conversations was shown last, and the latest result sets."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._shown: Lru[tuple[str, str | None], _Shown] = Lru(CAPACITY)
        self._sets: Lru[str, tuple[str, ...]] = Lru(CAPACITY)

    def keep(self, request: BeginRequest, last: LastShown, set_key: str) -> None:
        """What a call shows, not yet written."""
        self._sets.put(set_key, last.title_ids)
        if request.session is not None:
            self._shown.put((request.session, request.user), _Shown(last, request.turn.key, self._clock()))

    def written(self, request: BeginRequest) -> None:
        """What a call left has been confirmed."""
        if request.session is not None and (shown := self._shown.peek((request.session, request.user))):
            shown.written = shown.written or shown.turn == request.turn.key

    def forget(self, session: str, user: str | None) -> None:
        self._shown.pop((session, user))

    def fill(self, request: BeginRequest, begun: Begun) -> Begun:
        """What Redis did not say and this process knows."""
        if request.result_set is not None and begun.result_set is None:
            begun = replace(begun, result_set=self._sets.use(request.result_set))
        shown = self._shown.use((request.session, request.user)) if request.session is not None else None
        if shown is None or self._clock() - shown.made_at > SECONDS:
            return begun
        # A conversation that Redis has forgotten is over, but not in the middle of a turn.
        lost = begun.last is None and shown.turn == request.turn.key
        return replace(begun, last=shown.last) if begun.degraded or lost or not shown.written else begun
