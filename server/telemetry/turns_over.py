"""Says when turns run out of time between their calls, while the model thinks, and not inside them."""

from __future__ import annotations

import logging
import time

from server.telemetry.events import CallFinished
from session.resilience.clocks import Clock

logger = logging.getLogger("manga.turns")

SECONDS = 60.0
BETWEEN = (
    "The time between calls, in which the model thinks, uses turns up: raise MANGA_TURN_BUDGET_MS, or set "
    "MANGA_TURN_CLOCK=tools, which counts the time inside calls alone."
)


class TurnsOver:
    """A sink. The first such call leaves a line at once, those after it one a minute together."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._told_at = float("-inf")
        self._between, self._inside = 0, 0

    def __call__(self, event: CallFinished) -> None:
        if not event.turn_over:
            return
        if event.over_between:
            self._between += 1
        else:
            self._inside += 1
        if self._between and self._clock() - self._told_at >= SECONDS:
            self._tell()

    def _tell(self) -> None:
        words = "%d calls began when their turn was over by the time between calls, %d by that inside them. %s"
        logger.warning(words, self._between, self._inside, BETWEEN)
        self._told_at, self._between, self._inside = self._clock(), 0, 0
