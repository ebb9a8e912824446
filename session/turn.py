"""The time budget of a user's turn, and the arithmetic that only ever shortens it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import StrEnum

from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru

RESERVE_MS = 200
"""Kept back for the agent's own last words."""
FLOOR_MS = 100
"""With this or less left nothing is started."""
LADDER_MS = 50
"""Kept back from a call for a fallback and the record."""
FORGET_MS = 60_000
"""A turn is forgotten so long after its end."""
STEP_MS = 250
"""Redis's clock and this one drift apart by less within a turn, trips included; more is a step of one of them."""


class TurnKind(StrEnum):
    NAMED = "named"
    TRACE = "trace"
    IMPLICIT = "implicit"


@dataclass(frozen=True, slots=True)
class TurnName:
    """Which turn a call belongs to. Only a named one can be exhausted; the others are replaced."""

    kind: TurnKind
    value: str

    @property
    def field(self) -> str:
        return f"{self.kind[0]}:{self.value}"

    @property
    def named(self) -> bool:
        return self.kind is TurnKind.NAMED


IMPLICIT = TurnName(TurnKind.IMPLICIT, "implicit")


@dataclass(frozen=True, slots=True)
class Turn:
    """`total_ms` of wall clock, over at `ends`; the last `RESERVE_MS` of it are the agent's. `exhausted` is decided once,
    when a call begins: what was enough then is not found too little a moment later."""

    name: TurnName
    total_ms: int
    ends: Deadline
    exhausted: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "exhausted", not self.may_start())

    def remaining_ms(self) -> int:
        return max(0, int(self.ends.remaining() * 1000) - RESERVE_MS)

    def may_start(self) -> bool:
        """Whether something new may be started now."""
        return self.remaining_ms() > FLOOR_MS

    def allowance_ms(self, tool_timeout_ms: int, expected_calls: int) -> int:
        """What one call may take: a fair share of what is left, but enough to be of use, within the tool's own limit."""
        remaining = self.remaining_ms()
        share = max(FLOOR_MS, remaining // max(1, expected_calls))
        return max(0, min(tool_timeout_ms, share, remaining - LADDER_MS))


@dataclass(frozen=True, slots=True)
class Shadow:
    """What this process has seen of a turn: when first, and the earliest end it ever computed. Seconds, monotonic.
    `ahead_ms` is how far Redis's clock was ahead of this process's when it first spoke of the turn; None before."""

    first_seen: float
    ends: float
    total_ms: int
    ahead_ms: float | None = None


class TurnShadows:
    """The process's own view of its turns, so that Redis lost, failed over or with another clock can only shorten them.

    Holds at most `capacity` turns, each until `FORGET_MS` after its end.
    """

    def __init__(self, clock: Clock = time.monotonic, capacity: int = 20_000) -> None:
        self._clock = clock
        self._shadows: Lru[str, Shadow] = Lru(capacity)

    def live(self, key: str, name: TurnName) -> Shadow | None:
        """The turn as seen so far; None when it is unknown, forgotten, or an unnamed one that is over."""
        shadow = self._shadows.peek(key)
        if shadow is None:
            return None
        left_ms = (shadow.ends - self._clock()) * 1000
        over = left_ms < -FORGET_MS if name.named else left_ms - RESERVE_MS <= FLOOR_MS
        if over:
            self._shadows.pop(key)
            return None
        return shadow

    def keep(self, key: str, shadow: Shadow) -> None:
        self._shadows.put(key, shadow)
        oldest_end = self._clock() - FORGET_MS / 1000
        self._shadows.pop_while(lambda kept: kept.ends < oldest_end)

    def forget(self, key: str) -> None:
        self._shadows.pop(key)

    def latest_end(self) -> float:
        """When the last of the turns under way is over (monotonic seconds): a server that stops waits for it."""
        return max((shadow.ends for shadow in self._shadows.values()), default=0.0)


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A call's claim on a turn. `arrived` is monotonic seconds, `stated_ms` what the caller says is left at this call."""

    key: str
    name: TurnName
    arrived: float
    stated_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What Redis says of a turn; `clock_ms` is its own time then."""

    elapsed_ms: int
    total_ms: int
    renewed: bool
    clock_ms: int


class TurnArithmetic:
    """Joins what Redis says of a turn with what this process has seen of it."""

    def __init__(self, budget_ms: int, shadows: TurnShadows, clock: Clock = time.monotonic) -> None:
        self.budget_ms = budget_ms
        self._shadows = shadows
        self._clock = clock

    def ages_ms(self, request: TurnRequest, sent: float) -> tuple[int, int]:
        """(age of the turn, age of the call) in ms as this process knows them when it sends the begin script."""
        call_age = max(0.0, sent - request.arrived)
        shadow = self._shadows.live(request.key, request.name)
        turn_age = max(call_age, sent - shadow.first_seen) if shadow else call_age
        return round(turn_age * 1000), round(call_age * 1000)

    def known_over(self, request: TurnRequest) -> bool:
        """Whether this process has seen that a named turn is used up."""
        shadow = self._shadows.live(request.key, request.name) if request.name.named else None
        return shadow is not None and (shadow.ends - self._clock()) * 1000 <= RESERVE_MS + FLOOR_MS

    def confirmed(self, request: TurnRequest, sent: float, said: Confirmation) -> Turn:
        """The turn by Redis's answer, anchored at the moment the question was sent."""
        shadow = None if said.renewed else self._shadows.live(request.key, request.name)
        ahead_ms = said.clock_ms - sent * 1000
        first_ahead_ms = ahead_ms if shadow is None or shadow.ahead_ms is None else shadow.ahead_ms
        step_ms = ahead_ms - first_ahead_ms
        # Time that only Redis's clock has made has not passed. One that steps back is held by the shadow.
        made_ms = step_ms if step_ms > STEP_MS else 0
        ends = sent + (said.total_ms - max(0, said.elapsed_ms - made_ms)) / 1000
        first_seen = min(request.arrived, sent)
        # What Redis found enough may have been used up by the trip itself.
        return self._or_anew(request, self._settle(request, shadow, first_seen, ends, said.total_ms, first_ahead_ms))

    def alone(self, request: TurnRequest, now: float) -> Turn:
        """The turn by what this process has seen, without Redis."""
        shadow = self._shadows.live(request.key, request.name)
        return self._or_anew(request, self._seen(request, shadow, now))

    def _or_anew(self, request: TurnRequest, turn: Turn) -> Turn:
        """The turn, or in place of one that nobody named and that is used up, a new one from this call on."""
        return self._seen(request, None, self._clock()) if turn.exhausted and not request.name.named else turn

    def _seen(self, request: TurnRequest, shadow: Shadow | None, now: float) -> Turn:
        first_seen = min(request.arrived, shadow.first_seen if shadow else now)
        total_ms = shadow.total_ms if shadow else self.budget_ms
        if request.stated_ms is not None:
            elapsed_ms = max(0, round((request.arrived - first_seen) * 1000))
            total_ms = min(total_ms, elapsed_ms + request.stated_ms)
        return self._settle(request, shadow, first_seen, first_seen + total_ms / 1000, total_ms)

    def apart(self, request: TurnRequest) -> Turn:
        """A turn of this call alone, which nobody keeps: for callers whose turn cannot be told, and for refused calls."""
        total_ms = self.budget_ms if request.stated_ms is None else min(self.budget_ms, request.stated_ms)
        return Turn(request.name, total_ms, Deadline(request.arrived + total_ms / 1000, self._clock))

    def _settle(
        self,
        request: TurnRequest,
        shadow: Shadow | None,
        first_seen: float,
        ends: float,
        total_ms: int,
        ahead_ms: float | None = None,
    ) -> Turn:
        if request.stated_ms is not None:
            ends = min(ends, request.arrived + request.stated_ms / 1000)
        if shadow is not None:
            first_seen, ends = min(first_seen, shadow.first_seen), min(ends, shadow.ends)
            total_ms = min(total_ms, shadow.total_ms)
        ends = min(ends, first_seen + total_ms / 1000)  # ms were rounded on the way
        if ahead_ms is None and shadow is not None:
            ahead_ms = shadow.ahead_ms
        self._shadows.keep(request.key, Shadow(first_seen, ends, total_ms, ahead_ms))
        return Turn(request.name, total_ms, Deadline(ends, self._clock))
