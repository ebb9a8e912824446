"""Service levels of each call, and the numbers that CloudWatch alarms on; the deployment reads both without drivers.

In time: the last byte of the answer was with the socket at most 20 ms after the call's deadline. Usable: the agent can go on
with the answer. An answer that finds nothing while a backend is missing, or holds popular titles in place of those that were
asked for, is not usable.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from server.call import CACHE, LIVE
from server.telemetry.events import CallFinished

IN_TIME, USABLE = "in_time", "usable"
LEVELS = (IN_TIME, USABLE)
GOOD, BAD = "good", "bad"
OWN_FAILURES = frozenset({"INTERNAL_ERROR", "DEPENDENCY_FAILURE", "TIMEOUT", "CIRCUIT_OPEN", "SERVER_BUSY"})
"""Failures that are not the caller's. BUDGET_EXHAUSTED is not among them: the turn was spent before the call came, as a rule
by the model's thinking; where slow calls have spent it, those were late."""


def usable(event: CallFinished) -> bool | None:
    """True if the agent can go on with the answer. None for a call that says nothing of the service: cancelled, a caller's
    error, or forbidden."""
    if event.outcome != "ok":
        return False if event.outcome in OWN_FAILURES else None
    # Without a live source, or with more than the session missing, "nothing found" proves nothing.
    missing = event.source not in (LIVE, CACHE) or not frozenset({"session"}).issuperset(event.degraded)
    # "matches": a fallback that shows popular titles in place of the ones asked for.
    return not ((event.empty and missing) or "matches" in event.degraded)


class Kind(StrEnum):
    """How a number is published: its growth since the last line, its value, or its values in each second since."""

    GROWN = "grown"
    NOW = "now"
    EACH_SECOND = "each second"


@dataclass(frozen=True, slots=True)
class Number:
    """`sample` is the name in /metrics, `labels` those that it has to have there; `dimension` is the name in CloudWatch of
    the label `by`. Samples that differ in other labels are added up."""

    name: str
    sample: str
    kind: Kind
    unit: str = "Count"
    labels: tuple[tuple[str, str], ...] = ()
    by: str | None = None
    dimension: str | None = None
    open_from: float | None = None
    """If set, the number is published as 1 from this value on, else as 0."""

    @classmethod
    def verdicts(cls, name: str, level: str, verdict: str) -> Self:
        return cls(name, "manga_service_level_total", Kind.GROWN, labels=(("level", level), ("verdict", verdict)))


UNDER_WAY = Number("CallsUnderWay", "manga_calls_under_way", Kind.EACH_SECOND)
NUMBERS = (
    Number.verdicts("AnswersInTime", IN_TIME, GOOD),
    Number.verdicts("AnswersLate", IN_TIME, BAD),
    Number.verdicts("AnswersUsable", USABLE, GOOD),
    Number.verdicts("AnswersUnusable", USABLE, BAD),
    Number("AnswersSent", "manga_answer_seconds_count", Kind.GROWN),
    Number("AnswersInTwoSeconds", "manga_answer_seconds_bucket", Kind.GROWN, labels=(("le", "2.0"),)),
    UNDER_WAY,
    Number("Ready", "manga_ready", Kind.NOW),
    Number("RedisAway", "manga_breaker_state", Kind.NOW, labels=(("backend", "redis"),), open_from=1.0),
    Number("BackendLost", "manga_breaker_state", Kind.NOW, by="backend", dimension="Backend", open_from=1.0),
    Number("AuditLinesLost", "manga_audit_lines_dropped_total", Kind.GROWN),
    Number("LogLinesLost", "manga_log_lines_dropped_total", Kind.GROWN),
    Number("ReplicaLag", "manga_replica_lag_seconds", Kind.NOW, "Seconds", by="replica", dimension="Replica"),
)
