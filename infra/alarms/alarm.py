"""Definition of an alarm, for Prometheus and for CloudWatch."""

from __future__ import annotations

from dataclasses import dataclass

RUNBOOKS = "infra/RUNBOOKS.md"


@dataclass(frozen=True, slots=True)
class Watch:
    """CloudWatch alarm on one metric: `datapoints` of the last `periods` minutes are above (or `below`) the threshold.
    `missing`: CloudWatch's treatment of minutes without data; `dimension` makes one alarm for each of its `values`."""

    metric: str
    statistic: str
    threshold: float
    datapoints: int
    periods: int
    below: bool = False
    missing: str = "notBreaching"
    dimension: str | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """CloudWatch alarm on two counts: the share of `bad` is above `most` for `minutes` in a row."""

    bad: str
    good: str
    most: float
    minutes: int


@dataclass(frozen=True, slots=True)
class Part:
    """A metric of a formula, called `name` there. With a `dimension` (name, value) the collector reads it from /metrics
    under the same name (infra/observability/aws.yml); without one the server publishes it."""

    name: str
    metric: str
    dimension: tuple[str, str] | None = ("Service", "manga-tools")
    statistic: str = "Sum"


@dataclass(frozen=True, slots=True)
class Formula:
    """CloudWatch alarm on metric math: `expression` is above `most` for `periods` in a row, each of `minutes`. The parts are
    summed over all tasks and labels."""

    expression: str
    parts: tuple[Part, ...]
    most: float
    minutes: int
    periods: int = 1


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm. `expression`, in PromQL, has to hold for `minutes`. `summary` and `do` may contain label templates of
    Prometheus; CloudWatch uses `otherwise` in place of the summary, if it is set."""

    name: str
    severity: str
    summary: str
    do: str
    expression: str
    minutes: int
    watch: Watch | Share | Formula
    otherwise: str = ""

    @property
    def runbook(self) -> str:
        """Path and anchor of its runbook."""
        return f"{RUNBOOKS}#{self.name.lower()}"
