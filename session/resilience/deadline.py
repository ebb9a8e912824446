"""A point in time by which something must be over."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from session.resilience.clocks import Clock
from session.resilience.timeline import Interval


@dataclass(frozen=True, slots=True)
class Deadline:
    """An absolute instant on the monotonic clock. It travels with a call, and whoever passes it on may only shorten it.

    `at` is in seconds of `clock`, which is `time.monotonic` everywhere but in tests. `interval` is what is done until then,
    where somebody watches: whoever is given the deadline notes there what it does itself.
    """

    at: float
    clock: Clock = field(default=time.monotonic, compare=False, repr=False)
    interval: Interval | None = field(default=None, compare=False, repr=False)

    @property
    def traceparent(self) -> str | None:
        """What whoever is asked until then is told of the trace; None where there is none."""
        return None if self.interval is None else self.interval.traceparent

    @classmethod
    def after(cls, seconds: float, clock: Clock = time.monotonic) -> Deadline:
        """The instant `seconds` from now."""
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - self.clock())

    def expired(self) -> bool:
        return self.clock() >= self.at

    def within(self, seconds: float) -> Deadline:
        """The earlier of this deadline and the instant `seconds` from now."""
        return Deadline(min(self.at, self.clock() + seconds), self.clock, self.interval)

    def sooner_of(self, other: Deadline) -> Deadline:
        """The earlier of the two, for what this one is for."""
        return self if self.at <= other.at else other.inside(self.interval)

    def less(self, seconds: float) -> Deadline:
        """This deadline, `seconds` earlier: what is kept back for a later step."""
        return Deadline(self.at - seconds, self.clock, self.interval)

    def inside(self, interval: Interval | None) -> Deadline:
        """The same instant, for what is done within `interval`."""
        return self if interval is self.interval else Deadline(self.at, self.clock, interval)
