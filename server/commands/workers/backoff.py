"""How soon a worker that has ended is started again."""

from __future__ import annotations

STEADY_SECONDS = 10.0
"""Whoever lived so long was well."""
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0


class Backoff:
    """At once; and after 0.5, 1, 2 … 30 seconds where it ended soon again and again."""

    def __init__(self) -> None:
        self._early = 0

    def pause_after(self, lived_seconds: float) -> float:
        if lived_seconds >= STEADY_SECONDS:
            self._early = 0
        pause = FIRST_PAUSE_SECONDS * 2.0 ** min(self._early - 1, 10) if self._early else 0.0
        self._early += 1
        return min(pause, LONGEST_PAUSE_SECONDS)
