"""What this process has seen of its turns, whatever Redis says of them."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from session.resilience.clocks import Clock
from session.resilience.lru import Lru
from session.token_budget import TokenBudget
from session.turn import FLOOR_MS, FORGET_MS, RESERVE_MS, TurnClock, TurnName, TurnRequest


@dataclass(frozen=True, slots=True)
class Shadow:
    """What this process has seen of a turn: when first, and the earliest end it ever computed. Seconds, monotonic.
    `ahead_ms` is how far Redis's clock was ahead of this process's when it first spoke of the turn; None before."""

    first_seen: float
    ends: float
    total_ms: int
    ahead_ms: float | None = None
    tokens: TokenBudget | None = None


@dataclass(slots=True)
class _Activity:
    """The calls of a turn that are under way here, since when there is none, and the time between calls that counted."""

    calls: int = 0
    idle_since: float = 0.0
    between: float = 0.0


class TurnShadows:
    """The process's own view of its turns, so that Redis lost, failed over or with another clock can only shorten them.

    Holds at most `capacity` turns, each until `FORGET_MS` after its end.
    """

    def __init__(self, clock: Clock = time.monotonic, capacity: int = 20_000, counts: TurnClock = TurnClock.WALL) -> None:
        self._clock = clock
        self.counts = counts
        self._activities: Lru[str, _Activity] = Lru(capacity)
        self._shadows: Lru[str, Shadow] = Lru(capacity)

    def __len__(self) -> int:
        return len(self._shadows)

    def enter(self, request: TurnRequest) -> None:
        """A call begins. What was between it and the last one before is taken out of a turn that counts only its calls."""
        activity, shadow = self._activities.use(request.key), self._shadows.peek(request.key)
        if activity is None or shadow is None:
            under_way = activity.calls if activity else 0
            self._activities.put(request.key, _Activity(under_way + 1))
            return
        pause = 0.0 if activity.calls else max(0.0, request.arrived - activity.idle_since)
        activity.calls += 1
        if self.counts is TurnClock.WALL:
            activity.between += pause
        elif pause * 1000 > request.name.pause_ms:
            self._shadows.pop(request.key)
        elif pause:
            later = replace(shadow, first_seen=shadow.first_seen + pause, ends=shadow.ends + pause)
            self._shadows.put(request.key, later)

    def leave(self, key: str) -> None:
        """A call that has entered ends, however it went."""
        activity = self._activities.use(key)
        if activity is not None and activity.calls:
            activity.calls -= 1
            activity.idle_since = self._clock()
            if not activity.calls and key not in self._shadows:
                self._activities.pop(key)

    def renew(self, key: str) -> None:
        """The turn is another one from now on."""
        if activity := self._activities.peek(key):
            activity.between = 0.0

    def between_ms(self, key: str) -> int:
        """Time between the turn's calls that counted."""
        activity = self._activities.peek(key)
        return round(activity.between * 1000) if activity else 0

    def live(self, key: str, name: TurnName) -> Shadow | None:
        """The turn as seen so far; None when it is unknown, forgotten, or an unnamed one that is over."""
        shadow = self._shadows.peek(key)
        if shadow is None:
            return None
        left_ms = (shadow.ends - self._clock()) * 1000
        over = left_ms < -FORGET_MS if name.named else left_ms - RESERVE_MS <= FLOOR_MS
        if over:
            self._shadows.pop(key)
            self.renew(key)
            return None
        return shadow

    def keep(self, key: str, shadow: Shadow) -> None:
        self._shadows.put(key, shadow)
        oldest_end = self._clock() - FORGET_MS / 1000
        self._shadows.pop_while(lambda shadow: shadow.ends < oldest_end)

    def spend(self, key: str, tokens: int) -> None:
        """Counts what a call has given, where its turn counts it."""
        shadow = self._shadows.peek(key)
        if shadow is not None and shadow.tokens is not None:
            self._shadows.put(key, replace(shadow, tokens=shadow.tokens.after(tokens)))

    def forget(self, key: str) -> None:
        self._shadows.pop(key)

    def latest_end(self) -> float:
        """When the last of the turns under way is over (monotonic seconds): a server that stops waits for it."""
        return max((shadow.ends for shadow in self._shadows.values()), default=0.0)
