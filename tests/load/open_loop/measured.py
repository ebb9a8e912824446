"""What a run came to: calls, turns, and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from tests.load.open_loop.run import SOURCES
from tests.load.open_loop.schedule import CALLS_A_TURN
from tests.load.results import percentile

BUSY = ("SERVER_BUSY", "HTTP 503")
TURN_SECONDS = 3.0
CLIENT_LATE_MS = 10.0
"""The client's own lateness, p99: beyond it the client was not fit to measure anything, and the run is refused."""
TELLING = 1
"""Calls that have to lie beyond a percentile for it to say anything."""


class ClientTooLate(RuntimeError):
    """The load generator did not keep to its schedule."""


class Row(NamedTuple):
    """A call as the client noted it; seconds."""

    turn: int
    step: int
    tool: str
    due: float
    late: float
    latency: float
    outcome: str
    degraded: bool
    retry_after_ms: int | None

    @property
    def succeeded(self) -> bool:
        return self.outcome in SOURCES


@dataclass(frozen=True)
class Measured:
    """A run at one rate, of the turns that were due in its window. CPU and RSS are by process."""

    rate: float
    rows: Sequence[Row]
    turns_due: int
    strays: int
    ended: int
    cpu_ms: dict[str, float]
    client_cpu_ms: float
    machine_cores: float
    rss_mb: dict[str, float]
    answers: int
    seconds: float
    load_average: float

    @classmethod
    def of(cls, rate: float, settle: float, answer: dict[str, Any]) -> Measured:
        rows = [Row(*row) for row in answer.pop("rows")]
        counted = {row.turn for row in rows if row.step == 0 and row.due >= settle}
        kept = [row for row in rows if row.turn in counted]
        return cls(rate=rate, rows=kept, turns_due=len(counted), **answer)

    def refuse_when_client_was_late(self, most_ms: float) -> None:
        if self.late_ms > most_ms:
            raise ClientTooLate(
                f"at {self.rate:g} calls/s the client was {self.late_ms:.0f} ms late (p99): nothing is measured"
            )

    def refuse_when_wrong(self) -> None:
        if self.strays or self.ended:
            raise AssertionError(f"{self.strays} answers that nobody had asked for, {self.ended} streams ended")

    @property
    def offered(self) -> float:
        """Calls a second that were due."""
        return CALLS_A_TURN * self.turns_due / self.seconds

    @property
    def achieved(self) -> float:
        """Share of the calls due that were answered with a result within a turn's budget."""
        good = sum(row.succeeded and row.latency <= TURN_SECONDS for row in self.rows)
        return good / (CALLS_A_TURN * self.turns_due)

    @property
    def goodput(self) -> float:
        return self.offered * self.achieved

    @cached_property
    def latencies(self) -> list[float]:
        """Of the calls that got a result."""
        return [row.latency for row in self.rows if row.succeeded]

    @cached_property
    def refusals(self) -> list[Row]:
        return [row for row in self.rows if row.outcome in BUSY]

    @cached_property
    def turns(self) -> list[float]:
        """Seconds that a turn's three calls took together, without its thinking; of turns that got three results."""
        return [sum(row.latency for row in rows) for rows in self._whole_turns()]

    def _whole_turns(self) -> Iterator[list[Row]]:
        ordered = sorted(self.rows, key=lambda row: (row.turn, row.step))
        for _, group in groupby(ordered, key=lambda row: row.turn):
            rows = list(group)
            if len(rows) == CALLS_A_TURN and all(row.succeeded for row in rows):
                yield rows

    def ms(self, share: float) -> float | None:
        """Of calls that got a result; None when there are too few of them to say."""
        few = len(self.latencies) * (1 - share) < TELLING
        return None if few or not self.latencies else 1000 * percentile(self.latencies, share)

    @property
    def worst_ms(self) -> float:
        return 1000 * max((row.latency for row in self.rows), default=0.0)

    @property
    def late_ms(self) -> float:
        return 1000 * percentile([row.late for row in self.rows], 0.99)

    def share(self, *outcomes: str) -> float:
        return sum(self.outcomes[outcome] for outcome in outcomes) / max(1, len(self.rows))

    @cached_property
    def outcomes(self) -> Counter[str]:
        return Counter(row.outcome for row in self.rows)

    @property
    def failures(self) -> dict[str, int]:
        """Calls that got neither a result nor a refusal for being busy, by name."""
        return {name: count for name, count in self.outcomes.items() if name not in (*SOURCES, *BUSY)}

    @property
    def degraded(self) -> float:
        return sum(row.degraded for row in self.rows) / max(1, len(self.rows))

    def cpu_a_call(self, process: str) -> float:
        return self.cpu_ms[process] / max(1, self.answers)

    @property
    def others_cores(self) -> float:
        """What the machine did besides: processes that are no part of this."""
        ours = (sum(self.cpu_ms.values()) + self.client_cpu_ms) / 1000 / self.seconds
        return max(0.0, self.machine_cores - ours)
