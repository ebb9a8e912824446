"""Which turns are shown call by call."""

from __future__ import annotations

from session.resilience.clocks import Clock
from session.resilience.lru import Lru

PER_SECOND = 2
BURST = 10
"""A watched call costs a fifth more than others, and one that is told as much again: this many keep the page under its bar
of 3 % of the server's time (`tests/load/ops.py`), and are more than anybody reads."""
MOST_DECIDED = 2048
"""At 200 turns a second those of ten seconds, and a turn has three."""


class Turns:
    """Whole ones: it is decided at a turn's first call, and holds for all that follow. So many a second, evenly, however
    many there are."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._decided: Lru[int, bool] = Lru(MOST_DECIDED)
        self._room, self._filled_at = float(BURST), clock()

    def chosen(self, turn: int) -> bool:
        """`turn` is a hash."""
        known = self._decided.use(turn)
        if known is None:
            known = self._has_room()
            self._decided.put(turn, known)
        return known

    def _has_room(self) -> bool:
        now = self._clock()
        self._room = min(BURST, self._room + (now - self._filled_at) * PER_SECOND)
        self._filled_at = now
        if self._room < 1:
            return False
        self._room -= 1
        return True
