"""The service levels of a call, and the metrics for CloudWatch alarms. This module must import no backend's library, since
the deployment (`infra`) imports it too.

In time: the answer's last byte was written to the socket at most 20 ms after the call's deadline. Usable: the agent can
continue with the answer. An empty answer while a backend is missing is not usable, nor are popular titles instead of the
requested ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

from server.call import CACHE, LIVE
from server.telemetry.events import CallFinished

IN_TIME, USABLE = "in_time", "usable"
LEVELS = (IN_TIME, USABLE)
GOOD, BAD = "good", "bad"
OWN_FAILURES = frozenset({"INTERNAL_ERROR", "DEPENDENCY_FAILURE", "TIMEOUT", "CIRCUIT_OPEN", "SERVER_BUSY"})
"""Failures that the caller has not caused. BUDGET_EXHAUSTED is left out: usually the model's thinking has used the turn up.
If slow calls have used the turn up, those calls are counted as late."""
Kind = Literal["growth", "value", "each second", "not zero"]
"""How a metric is published: its growth since the last EMF line, its value, its values at each second since that line, or
whether it is not zero (1 or 0)."""


def usable(event: CallFinished) -> bool | None:
    """Returns whether the agent can continue with the answer. Returns None if the call says nothing about the service: it
    was cancelled, or failed for a reason that is not in `OWN_FAILURES`."""
    if event.outcome != "ok":
        return False if event.outcome in OWN_FAILURES else None
    # An empty result is reliable only from a live or cached source, with nothing but the session missing.
    missing = event.source not in (LIVE, CACHE) or not frozenset({"session"}).issuperset(event.degraded)
    # "matches" is degraded by a fallback that shows popular titles instead of those asked for.
    return not ((event.empty and missing) or "matches" in event.degraded)


@dataclass(frozen=True, slots=True)
class CloudWatchMetric:
    """A CloudWatch metric, summed over the Prometheus samples named `sample` that have the `labels`. With a `dimension`, for
    example "Backend", it is published for each value of the label "backend". All other labels are ignored."""

    name: str
    sample: str
    kind: Kind
    unit: str = "Count"
    labels: tuple[tuple[str, str], ...] = ()
    dimension: str | None = None

    @classmethod
    def verdicts(cls, name: str, level: str, verdict: str) -> Self:
        return cls(name, "manga_service_level_total", "growth", labels=(("level", level), ("verdict", verdict)))


UNDER_WAY = CloudWatchMetric("CallsUnderWay", "manga_calls_under_way", "each second")
NUMBERS = (
    CloudWatchMetric.verdicts("AnswersInTime", IN_TIME, GOOD),
    CloudWatchMetric.verdicts("AnswersLate", IN_TIME, BAD),
    CloudWatchMetric.verdicts("AnswersUsable", USABLE, GOOD),
    CloudWatchMetric.verdicts("AnswersUnusable", USABLE, BAD),
    CloudWatchMetric("AnswersSent", "manga_answer_seconds_count", "growth"),
    CloudWatchMetric("AnswersInTwoSeconds", "manga_answer_seconds_bucket", "growth", labels=(("le", "2.0"),)),
    UNDER_WAY,
    CloudWatchMetric("Ready", "manga_ready", "value"),
    CloudWatchMetric("RedisAway", "manga_breaker_state", "not zero", labels=(("backend", "redis"),)),
    CloudWatchMetric("BackendLost", "manga_breaker_state", "not zero", dimension="Backend"),
    CloudWatchMetric("AuditLinesLost", "manga_audit_lines_dropped_total", "growth"),
    CloudWatchMetric("LogLinesLost", "manga_log_lines_dropped_total", "growth"),
    CloudWatchMetric("ReplicaLag", "manga_replica_lag_seconds", "value", "Seconds", dimension="Replica"),
)
