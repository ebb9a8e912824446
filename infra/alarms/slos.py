"""The service levels, and how fast their budget may burn before somebody is paged.

Windows and factors are those of the Site Reliability Workbook (Google 2018, chapter 5, "Multiwindow, Multi-Burn-Rate
Alerts"). A burn rate is the share of bad answers over the share that the objective leaves; at 1 the budget lasts exactly its
30 days. Both windows have to be above it: the long one shows that it matters, the short one that it goes on.
"""

from __future__ import annotations

from dataclasses import dataclass

from server.telemetry.service_levels import IN_TIME, USABLE

PAGE, TICKET = "page", "ticket"
HOUR = 60
DAY = 24 * HOUR
LEAST_ANSWERS = 100
"""Least answers in the long window: among fewer, one or two bad ones would raise an alarm."""
LEAST_BAD = 3
"""Least bad answers in the short window of CloudWatch's alarms, which roll deployments back by themselves."""


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """A service level. `good` and `bad` are the names of its two counts in CloudWatch; `objective` is the share of good
    ones."""

    name: str
    alarm: str
    objective: float
    good: str
    bad: str
    customers: str

    @property
    def budget(self) -> float:
        return 1 - self.objective


@dataclass(frozen=True, slots=True)
class Burn:
    """A burn rate and its windows in minutes. CloudWatch has no period longer than a day: there `days` windows of a day,
    each of which has to be above the rate, stand for the long one, which is quieter than their mean."""

    name: str
    factor: float
    long: int
    short: int
    severity: str
    days: int = 1


SERVICE_LEVELS = (
    ServiceLevel(
        IN_TIME,
        "MangaLateBurn",
        0.999,
        "AnswersInTime",
        "AnswersLate",
        "Answers come after their turn's share of the budget.",
    ),
    ServiceLevel(
        USABLE, "MangaUnusableBurn", 0.999, "AnswersUsable", "AnswersUnusable", "Answers are errors or lead nowhere."
    ),
)
BURNS = (
    Burn("fast", 14.4, long=HOUR, short=5, severity=PAGE),
    Burn("medium", 6.0, long=6 * HOUR, short=30, severity=PAGE),
    Burn("slow", 1.0, long=3 * DAY, short=6 * HOUR, severity=TICKET, days=3),
)
