"""Breakers that open and close, in the log."""

from __future__ import annotations

import logging
import time

from session.resilience.breaker import BreakerState
from session.resilience.clocks import Clock
from session.resilience.outage import Outage

logger = logging.getLogger(__name__)


class Breakers:
    """What breakers tell their changes to. An outage is one, however often a probe of it fails."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._outages: dict[str, Outage] = {}

    def changed(self, backend: str, state: BreakerState, why: str) -> None:
        what = f"the {backend} backend, by its breaker,"
        outage = self._outages.setdefault(backend, Outage(logger, what, clock=self._clock))
        if state is BreakerState.OPEN:
            outage.failed(why)
        elif state is BreakerState.CLOSED:
            outage.over()
