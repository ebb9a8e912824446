"""What a scenario's samples come to, and the bars that they are held against."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
SERVER_GRACE = 0.020


@dataclass(frozen=True, slots=True)
class Bars:
    """`late` and `over` are shares: answers that left the server over 20 ms after their deadline, answers that clients got
    over 50 ms after the budget; `stragglers` are as many as never count. `latest_ms` is how late a single one may be."""

    late: float
    latest_ms: float
    over: float
    usable: float
    recovery_seconds: float
    stragglers: int = 0

    def too_many(self, found: int, share: float, calls: int) -> bool:
        return found > max(self.stragglers, share * calls)


STRICT = Bars(late=0.0, latest_ms=1000 * SERVER_GRACE, over=0.001, usable=0.99, recovery_seconds=5.0)
FORGIVING = Bars(late=0.02, latest_ms=400.0, over=0.02, usable=0.97, recovery_seconds=30.0, stragglers=3)
"""For CI, whose machines do other things as well: still far from what a product does that waits for a backend."""


@dataclass(frozen=True, slots=True)
class Window:
    """A scenario's times: the fault, and until when was looked."""

    began: float
    ended: float
    closed: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds."""

    p50: float
    p99: float
    p999: float
    most: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Spread:
        ordered = sorted(seconds)
        if not ordered:
            return cls(0.0, 0.0, 0.0, 0.0)
        picked = [ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] for share in (0.5, 0.99, 0.999)]
        return cls(*(1000 * each for each in (*picked, ordered[-1])))


@dataclass(frozen=True, slots=True)
class Measured:
    """One scenario's figures, all without the time for which the machine held up the server or the clients; `held` is the
    share of it. `late` are the server's answers after their deadline, `over` those that clients got after their turn's
    budget."""

    name: str
    backends: tuple[str, ...]
    fault: str
    calls: int
    server: Spread
    client: Spread
    late: int
    worst_late_ms: float
    late_after_end: int
    over: int
    held: float
    unstructured: tuple[str, ...]
    usable: float
    untrue: tuple[str, ...]
    errors: Mapping[str, int]
    sources: Mapping[str, int]
    recovery: float
    waits: tuple[float, ...] = ()
    """Of each call at the client, in ms, for the plots."""
    unusable: Mapping[str, int] = field(default_factory=dict)
    offenders: tuple[str, ...] = ()
    """Each late answer, for whoever looks for the reason."""

    def missed(self, bars: Bars = STRICT) -> list[str]:
        """The bars that were missed, in words."""
        only_redis = self.backends == ("redis",)
        calls, late, after = self.calls, self.late, self.late_after_end
        found = {
            f"{self.late} of {self.calls} answers late, by {self.worst_late_ms:.0f} ms": bars.too_many(
                late, bars.late, calls
            ),
            f"an answer was {self.worst_late_ms:.0f} ms late": self.worst_late_ms > bars.latest_ms,
            f"{self.late_after_end} calls of turns that were over took too long": bars.too_many(after, bars.late, calls),
            f"{self.over} of {self.calls} answers came after the budget": bars.too_many(self.over, bars.over, calls),
            f"{len(self.unstructured)} unstructured errors: {self.unstructured[:3]}": self.unstructured,
            f"{self.usable:.1%} of searches, details and stock usable: {dict(self.unusable)}": self.usable < bars.usable,
            f"untrue labels: {Counter(self.untrue).most_common(3)}": self.untrue,
            f"errors with only Redis at fault: {dict(self.errors)}": only_redis and self.errors,
            f"recovered after {self.recovery:.1f} s": self.recovery > bars.recovery_seconds,
        }
        return [words for words, holds in found.items() if holds]
