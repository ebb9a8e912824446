"""Which turns are shown call by call."""

from __future__ import annotations

from dataclasses import dataclass

from session.resilience.clocks import Clock
from session.resilience.lru import Lru
from session.resilience.rate_limit import LocalLimits, Rate

PER_SECOND = 2
BURST = 10
"""A watched call costs a fifth more than others, and one that is told as much again: this many keep the page under its bar
of 3 % of the server's time (`tests/load/ops.py`), and are more than anybody reads."""
MOST_CALLS = 32
"""Of one turn: more than a model makes. Whoever names one turn for all that they ever ask is not shown without limit."""
HOLDS_SECONDS = 10.0
"""A turn has three. Calls that name none go by their session, which has one turn after another."""
MOST_DECIDED = 2048
"""At 200 turns a second those of ten seconds."""


@dataclass(slots=True)
class _Decision:
    made_at: float
    calls_left: int


class Turns:
    """Whole ones: it is decided at a turn's first call, and holds for all that follow. So many a second, evenly, however
    many there are."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._decided: Lru[int, _Decision] = Lru(MOST_DECIDED)
        self._limits = LocalLimits(Rate(PER_SECOND, BURST), clock, capacity=1)

    def chosen(self, turn: int) -> bool:
        """Whether a call of it is shown. `turn` is a hash."""
        now, decision = self._clock(), self._decided.use(turn)
        if decision is None or now - decision.made_at >= HOLDS_SECONDS:
            decision = _Decision(now, 0 if self._limits.wait_ms("turns") else MOST_CALLS)
            self._decided.put(turn, decision)
        if not decision.calls_left:
            return False
        decision.calls_left -= 1
        return True
