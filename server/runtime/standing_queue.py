"""Tells a queue that stands from a burst that passes, by how long calls have waited before anything could look at them."""

from __future__ import annotations

from session.resilience.clocks import Clock

LONGEST_WAIT_MS = 100.0
STANDING_SECONDS, CALM_SECONDS = 0.5, 2.0


class StandingQueue:
    """When the processor is what lacks, calls wait before they get here, and few are ever under way. One that has waited is
    let in when that was a burst or a hiccup, and refused when all have waited for a while: the queue then stands, and
    whoever is at its end would wait longer still (Nichols and Jacobson, "Controlling queue delay", ACM Queue 2012)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._late_since: float | None = None
        self._late_at = 0.0
        self._strict_until = 0.0

    def stands_before(self, waited_ms: float) -> bool:
        """Tells whether to refuse a call that waited so long."""
        now = self._clock()
        if waited_ms <= LONGEST_WAIT_MS:
            self._late_since = None
            return False
        if self._late_since is None or now - self._late_at > STANDING_SECONDS:
            self._late_since = now
        self._late_at = now
        stands = now < self._strict_until or now - self._late_since > STANDING_SECONDS
        if stands:
            self._strict_until = now + CALM_SECONDS
        return stands
