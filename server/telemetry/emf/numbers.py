"""Which of the process's own metrics go to CloudWatch, and under what name there: a closed list, each with at most one
dimension, of which the values are backends and replicas of this version."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from server.telemetry.service_levels import BAD, GOOD, IN_TIME, USABLE


class Kind(StrEnum):
    """How a number is told: how much it has grown since the last line, as it is, or as it was in each second since."""

    GROWN = "grown"
    NOW = "now"
    EACH_SECOND = "each second"


@dataclass(frozen=True, slots=True)
class Number:
    """`sample` is the name in /metrics, `labels` those that it has to have there; `dimension` is the name in CloudWatch of
    the label `by`."""

    name: str
    sample: str
    kind: Kind
    unit: str = "Count"
    labels: tuple[tuple[str, str], ...] = ()
    by: str | None = None
    dimension: str | None = None
    open_from: float | None = None
    """Where it is stated the number is 1 from this value on, else 0."""

    @classmethod
    def verdicts(cls, name: str, level: str, verdict: str) -> Self:
        return cls(name, "manga_service_level_total", Kind.GROWN, labels=(("level", level), ("verdict", verdict)))


UNDER_WAY = Number("CallsUnderWay", "manga_calls_under_way", Kind.EACH_SECOND)
NUMBERS = (
    Number.verdicts("AnswersInTime", IN_TIME, GOOD),
    Number.verdicts("AnswersLate", IN_TIME, BAD),
    Number.verdicts("AnswersUsable", USABLE, GOOD),
    Number.verdicts("AnswersUnusable", USABLE, BAD),
    UNDER_WAY,
    Number("Ready", "manga_ready", Kind.NOW),
    Number("RedisAway", "manga_breaker_state", Kind.NOW, labels=(("backend", "redis"),), open_from=1.0),
    Number("BackendLost", "manga_breaker_state", Kind.NOW, by="backend", dimension="Backend", open_from=1.0),
    Number("AuditLinesLost", "manga_audit_lines_dropped_total", Kind.GROWN),
    Number("LogLinesLost", "manga_log_lines_dropped_total", Kind.GROWN),
    Number("ReplicaLag", "manga_replica_lag_seconds", Kind.NOW, "Seconds", by="replica", dimension="Replica"),
)
