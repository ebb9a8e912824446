"""What this process knows by itself of what was shown and shared last: for when Redis is away, and for what it did not take.

It only fills gaps. Another process has no part in it, and what Redis remembers counts for more, unless this process knows
that something later never got there.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from session.begin import BeginRequest, Begun
from session.history import LastShown
from session.resilience.clocks import Clock
from session.resilience.lru import Lru

CAPACITY = 5_000
SECONDS = 30 * 60.0
T = TypeVar("T")


@dataclass(slots=True)
class _Left(Generic[T]):
    """What a call of a turn has left behind, and whether Redis has it."""

    value: T
    turn: str
    made_at: float
    written: bool = False


class _Latest(Generic[T]):
    """What each of the latest conversations was left last."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left: Lru[tuple[str, str | None], _Left[T]] = Lru(CAPACITY)

    def keep(self, request: BeginRequest, value: T) -> None:
        if request.session is not None:
            self._left.put((request.session, request.user), _Left(value, request.turn.key, self._clock()))

    def written(self, request: BeginRequest) -> None:
        if request.session is not None and (left := self._left.peek((request.session, request.user))):
            left.written = left.written or left.turn == request.turn.key

    def forget(self, session: str, user: str | None) -> None:
        self._left.pop((session, user))

    def instead(self, request: BeginRequest, begun: Begun, *, known: bool) -> T | None:
        """What counts in place of what Redis said; None where that counts. `known` is whether it said anything."""
        left = self._left.use((request.session, request.user)) if request.session is not None else None
        if left is None or self._clock() - left.made_at > SECONDS:
            return None
        # A conversation that Redis has forgotten is over, but not in the middle of a turn.
        lost = not known and left.turn == request.turn.key
        return left.value if begun.degraded or lost or not left.written else None

    def values(self) -> list[T]:
        return [left.value for left in self._left.values()]


class RecentSearches:
    """What each of the latest conversations was shown last and shares, and the latest result sets."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.shown: _Latest[LastShown] = _Latest(clock)
        self._shared: _Latest[Mapping[str, str]] = _Latest(clock)
        self._sets: Lru[str, tuple[str, ...]] = Lru(CAPACITY)

    def keep(self, request: BeginRequest, last: LastShown, set_key: str) -> None:
        """What a call shows, not yet written."""
        self._sets.put(set_key, last.title_ids)
        self.shown.keep(request, last)

    def share(self, request: BeginRequest, shared: Mapping[str, str]) -> None:
        """All that is shared after a call, not yet written."""
        self._shared.keep(request, shared)

    def written(self, request: BeginRequest) -> None:
        """What a call left has been confirmed."""
        self.shown.written(request)
        self._shared.written(request)

    def forget(self, session: str, user: str | None) -> None:
        self.shown.forget(session, user)
        self._shared.forget(session, user)

    def fill(self, request: BeginRequest, begun: Begun) -> Begun:
        """What Redis did not say and this process knows."""
        if request.result_set is not None and begun.result_set is None:
            begun = replace(begun, result_set=self._sets.use(request.result_set))
        if (shared := self._shared.instead(request, begun, known=bool(begun.shared))) is not None:
            begun = replace(begun, shared=shared)
        if (last := self.shown.instead(request, begun, known=begun.last is not None)) is not None:
            begun = replace(begun, last=last)
        return begun
