"""The arithmetic of a turn, which only ever shortens it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from session.local.turn_shadows import Shadow, TurnShadows
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.token_budget import TokenBudget, opened, tighter
from session.turn import FLOOR_MS, RESERVE_MS, Turn, TurnClock, TurnRequest

STEP_MS = 250
"""Redis's clock and this one drift apart by less within a turn, trips included; more is a step of one of them."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What Redis says of a turn; `clock_ms` is its own time then."""

    elapsed_ms: int
    total_ms: int
    renewed: bool
    clock_ms: int
    tokens: TokenBudget | None = None


class TurnArithmetic:
    """Joins what Redis says of a turn with what this process has seen of it."""

    def __init__(
        self, budget_ms: int, shadows: TurnShadows, clock: Clock = time.monotonic, *, budget_tokens: int = 0
    ) -> None:
        """`budget_tokens` of a turn that states none, 0 for as many as there are."""
        self.budget_ms = budget_ms
        self.budget_tokens = budget_tokens
        self._shadows = shadows
        self._clock = clock

    def enter(self, request: TurnRequest) -> None:
        self._shadows.enter(request)

    def leave(self, request: TurnRequest) -> None:
        self._shadows.leave(request.key)

    @property
    def counts_calls(self) -> bool:
        """Whether only the time inside calls counts."""
        return self._shadows.counts is TurnClock.TOOLS

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
        if said.renewed:
            self._shadows.renew(request.key)
        shadow = None if said.renewed else self._shadows.live(request.key, request.name)
        ahead_ms = said.clock_ms - sent * 1000
        first_ahead_ms = ahead_ms if shadow is None or shadow.ahead_ms is None else shadow.ahead_ms
        step_ms = ahead_ms - first_ahead_ms
        # Time that only Redis's clock has made has not passed. One that steps back is held by the shadow.
        made_ms = step_ms if step_ms > STEP_MS else 0
        ends = sent + (said.total_ms - max(0, said.elapsed_ms - made_ms)) / 1000
        first_seen = min(request.arrived, sent)
        # What Redis found enough may have been used up by the trip itself.
        turn = self._settle(request, shadow, first_seen, ends, said.total_ms, said.tokens, first_ahead_ms)
        return self._or_anew(request, turn)

    def alone(self, request: TurnRequest, now: float) -> Turn:
        """The turn by what this process has seen, without Redis."""
        shadow = self._shadows.live(request.key, request.name)
        return self._or_anew(request, self._seen(request, shadow, now))

    def _or_anew(self, request: TurnRequest, turn: Turn) -> Turn:
        """The turn, or in place of one that nobody named and that is used up, a new one from this call on."""
        if request.name.named or not turn.exhausted:
            return turn
        self._shadows.renew(request.key)
        return self._seen(request, None, self._clock())

    def _seen(self, request: TurnRequest, shadow: Shadow | None, now: float) -> Turn:
        first_seen = min(request.arrived, shadow.first_seen if shadow else now)
        total_ms = shadow.total_ms if shadow else self.budget_ms
        if request.stated_ms is not None:
            elapsed_ms = max(0, round((request.arrived - first_seen) * 1000))
            total_ms = min(total_ms, elapsed_ms + request.stated_ms)
        tokens = opened(self.budget_tokens, request.stated_tokens, shadow.tokens if shadow else None)
        return self._settle(request, shadow, first_seen, first_seen + total_ms / 1000, total_ms, tokens)

    def apart(self, request: TurnRequest) -> Turn:
        """A turn of this call alone, which nobody keeps: for callers whose turn cannot be told, and for refused calls."""
        total_ms = self.budget_ms if request.stated_ms is None else min(self.budget_ms, request.stated_ms)
        tokens = opened(self.budget_tokens, request.stated_tokens)
        return Turn(request.name, total_ms, Deadline(request.arrived + total_ms / 1000, self._clock), tokens)

    def spend(self, request: TurnRequest, tokens: int) -> None:
        """Counts what a call has given."""
        self._shadows.spend(request.key, tokens)

    def _settle(
        self,
        request: TurnRequest,
        shadow: Shadow | None,
        first_seen: float,
        ends: float,
        total_ms: int,
        tokens: TokenBudget | None,
        ahead_ms: float | None = None,
    ) -> Turn:
        if request.stated_ms is not None:
            ends = min(ends, request.arrived + request.stated_ms / 1000)
        if shadow is not None:
            first_seen, ends = min(first_seen, shadow.first_seen), min(ends, shadow.ends)
            total_ms = min(total_ms, shadow.total_ms)
            tokens = tighter(tokens, shadow.tokens)
        ends = min(ends, first_seen + total_ms / 1000)  # ms were rounded on the way
        if ahead_ms is None and shadow is not None:
            ahead_ms = shadow.ahead_ms
        self._shadows.keep(request.key, Shadow(first_seen, ends, total_ms, ahead_ms, tokens))
        between_ms = self._shadows.between_ms(request.key)
        return Turn(request.name, total_ms, Deadline(ends, self._clock), tokens, between_ms)
