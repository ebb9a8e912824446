"""Service levels, and the burn rates of their error budgets at which alarms fire.

Windows and factors are those of the Site Reliability Workbook (Google 2018, chapter 5, "Multiwindow, Multi-Burn-Rate
Alerts"). A burn rate is the share of bad answers over the share that the objective allows; at 1 the budget lasts exactly its
30 days. An alarm fires if both windows exceed the rate: the long one shows that the loss is large, the short one that it
continues."""

from __future__ import annotations

from dataclasses import dataclass

from server.telemetry.service_levels import IN_TIME, USABLE

PAGE, TICKET = "page", "ticket"
HOUR = 60
DAY = 24 * HOUR
LEAST_ANSWERS = 100
"""Least answers in the long window: among fewer, one or two bad ones would raise an alarm."""
LEAST_BAD = 3
"""Least bad answers in the short window of a CloudWatch alarm, since these alarms roll deployments back."""


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """Service level of the server's answers. `alarm`: name of its alarms. `objective`: the share that has to be good.
    `good`, `bad`: names of the two counts in CloudWatch. `customers`: sentence about the effect on customers."""

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
    """Burn rate `factor` at which an alarm fires, with its windows `long` and `short` in minutes. CloudWatch has no period
    longer than a day: there the long window is `days` periods of a day, each of which has to exceed the rate. That alerts
    less often than their mean would."""

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
