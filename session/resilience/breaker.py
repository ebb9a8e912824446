"""Circuit breaker that counts slow calls too (Nygard, "Release It!", 2nd ed., ch. 5), a log of outages, and pauses."""

from __future__ import annotations

import logging
import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from session.resilience.clocks import Clock


class Outage:
    """Logs the start of an outage, after `after` failures in a row or one permanent failure, and the end. The reasons are
    logged, so callers must keep secrets out of them."""

    def __init__(self, logger: logging.Logger, name: str, after: int = 1, clock: Clock = time.monotonic) -> None:
        self._logger = logger
        self._name = name
        self._after = after
        self._clock = clock
        self._in_a_row = 0
        self._since = 0.0
        self.why: str | None = None
        """The reason of the present outage, or None."""

    def record_failure(self, why: str, *, permanent: bool = False) -> None:
        """Counts a failure. A `permanent` failure, which retries cannot mend, is logged as an outage at once."""
        self._in_a_row += 1
        if self.why is None and (permanent or self._in_a_row >= self._after):
            self.why, self._since = why, self._clock()
            self._logger.warning("%s is lost: %s", self._name, why)

    def record_recovery(self) -> None:
        self._in_a_row = 0
        if self.why is not None:
            self.why = None
            self._logger.info("%s is back after %.1f s", self._name, self._clock() - self._since)


STEADY_SECONDS = 10.0
"""A process that lived at least this long resets its backoff."""
LONGEST_PAUSE_SECONDS = 30.0


class Backoff:
    """Pauses in seconds before a process is restarted: 0 after its first end, then 0.5, 1, 2 … 30 after each life shorter
    than `STEADY_SECONDS`. A longer life resets the sequence."""

    def __init__(self) -> None:
        self._early = 0

    def pause_after(self, lived_seconds: float) -> float:
        if lived_seconds >= STEADY_SECONDS:
            self._early = 0
        pause = 0.5 * 2.0 ** min(self._early - 1, 10) if self._early else 0.0
        self._early += 1
        return min(pause, LONGEST_PAUSE_SECONDS)


class BreakerState(StrEnum):
    """CLOSED allows calls, OPEN refuses them, and HALF_OPEN allows one probe at a time."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """Thresholds of a circuit breaker.

    The breaker opens after `in_a_row` bad calls in a row, or if the last `window` seconds had at least `least_calls` calls,
    at least `bad_share` of them bad. Calls that fail or take at least `slow_seconds` are bad. The breaker stays open for
    `cool_down` seconds, doubled with each bad probe up to `longest`, ±25 %, and closes after `probes` good ones in a row."""

    slow_seconds: float
    window: float = 10.0
    least_calls: int = 10
    bad_share: float = 0.5
    in_a_row: int = 5
    cool_down: float = 0.5
    longest: float = 1.5
    probes: int = 2


class CircuitBreaker:
    """State machine closed → open → half-open → closed. Not thread-safe: use it on the event loop.

    Each allowed call must report its end once, with the `era` in which it was allowed: success, failure or ignored. Ignored
    is for ends that tell nothing of the backend, such as a caller's mistake or a cancellation. `era` grows with each change
    of state; reports of an earlier era are dropped. `on_change` receives the name, the new state and the last bad call's
    reason. `since`: when the breaker last closed, or last opened after being closed, in seconds of `clock`; a failed probe
    does not change it."""

    def __init__(
        self,
        name: str,
        policy: BreakerPolicy,
        clock: Clock = time.monotonic,
        jitter: Callable[[], float] = random.random,
        on_change: Callable[[str, BreakerState, str], None] | None = None,
    ) -> None:
        self.name = name
        self.policy = policy
        self._clock = clock
        self._jitter = jitter
        self._on_change = on_change
        self._state = BreakerState.CLOSED
        self._outcomes: deque[tuple[float, bool]] = deque()
        self._bad = self._bad_in_a_row = self._probing = self._probes_passed = 0
        self._pause = policy.cool_down
        self.why = ""
        self.era = 0
        self.since = self._opens_again_at = clock()

    @property
    def state(self) -> BreakerState:
        if self._state is BreakerState.OPEN and self._clock() >= self._opens_again_at:
            return BreakerState.HALF_OPEN
        return self._state

    def retry_after_ms(self) -> int:
        return max(1, round((self._opens_again_at - self._clock()) * 1000)) if self._state is BreakerState.OPEN else 1

    def allow_call(self) -> bool:
        """Returns whether a call may start now; may change `era`. An allowed call must then report its end."""
        if self._state is BreakerState.OPEN:
            if self._clock() < self._opens_again_at:
                return False
            self._enter(BreakerState.HALF_OPEN)
        if self._state is BreakerState.HALF_OPEN:
            if self._probing:
                return False
            self._probing += 1
        return True

    def record_success(self, seconds: float, era: int) -> None:
        slow = seconds >= self.policy.slow_seconds
        self._report(era, "slow answers" if slow else None)

    def record_failure(self, era: int, why: str = "failures") -> None:
        """Counts a failed call. `why` is for operators and must contain no address."""
        self._report(era, why)

    def record_ignored(self, era: int) -> None:
        if era == self.era and self._state is BreakerState.HALF_OPEN:
            self._probing -= 1

    def _report(self, era: int, why: str | None) -> None:
        if era != self.era:
            return
        bad = why is not None
        self.why = why or self.why
        if self._state is BreakerState.HALF_OPEN:
            self._report_probe(bad=bad)
        else:
            self._remember(bad=bad)
            if bad and self._has_tripped():
                self._open()

    def _report_probe(self, *, bad: bool) -> None:
        self._probing -= 1
        if bad:
            self._open()
            return
        self._probes_passed += 1
        if self._probes_passed >= self.policy.probes:
            self._pause = self.policy.cool_down
            self._enter(BreakerState.CLOSED)

    def _remember(self, *, bad: bool) -> None:
        now = self._clock()
        self._outcomes.append((now, bad))
        self._bad += bad
        self._bad_in_a_row = self._bad_in_a_row + 1 if bad else 0
        while self._outcomes and self._outcomes[0][0] < now - self.policy.window:
            self._bad -= self._outcomes.popleft()[1]

    def _has_tripped(self) -> bool:
        enough = len(self._outcomes) >= self.policy.least_calls
        return self._bad_in_a_row >= self.policy.in_a_row or (
            enough and self._bad >= self.policy.bad_share * len(self._outcomes)
        )

    def _open(self) -> None:
        self._opens_again_at = self._clock() + self._pause * (0.75 + 0.5 * self._jitter())
        self._pause = min(self.policy.longest, 2 * self._pause)
        self._enter(BreakerState.OPEN)

    def _enter(self, state: BreakerState) -> None:
        if BreakerState.CLOSED in (self._state, state):
            self.since = self._clock()
        self._state = state
        self.era += 1
        self._outcomes.clear()
        self._bad = self._bad_in_a_row = self._probing = self._probes_passed = 0
        if self._on_change is not None:
            self._on_change(self.name, state, self.why)
