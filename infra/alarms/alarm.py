from __future__ import annotations

from dataclasses import dataclass

RUNBOOKS = "infra/RUNBOOKS.md"


@dataclass(frozen=True, slots=True)
class Watch:
    """CloudWatch alarm on one metric. Fires when `datapoints` of the last `periods` minutes are above `threshold` (or
    `below` it). `missing`: CloudWatch's treatment of missing data. `dimension`: one alarm for each of its `values`; None for
    one alarm on the metric without dimensions."""

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
    """CloudWatch alarm on two counts. Fires when the share of `bad` in their sum is above `most` for `minutes` in a row."""

    bad: str
    good: str
    most: float
    minutes: int


@dataclass(frozen=True, slots=True)
class Part:
    """Metric in a `Formula`, whose expression refers to it by `name`. `dimension`: name and value, for a metric that the
    collector reads from /metrics (infra/observability/aws.yml); None for a metric that the server publishes itself."""

    name: str
    metric: str
    dimension: tuple[str, str] | None = ("Service", "manga-tools")
    statistic: str = "Sum"


@dataclass(frozen=True, slots=True)
class Formula:
    """CloudWatch alarm on metric math. Fires when `expression` is above `most` for `periods` in a row, each of `minutes`.
    Each part is aggregated over all tasks and labels."""

    expression: str
    parts: tuple[Part, ...]
    most: float
    minutes: int
    periods: int = 1


@dataclass(frozen=True, slots=True)
class Alarm:
    """Alarm for Prometheus and CloudWatch. `expression`, in PromQL, has to hold for `minutes`; `watch` is the alarm in
    CloudWatch. `severity`: "page" or "ticket". `do`: what the operator should do first. `summary` and `do` may contain
    Prometheus label templates; `otherwise`, if set, replaces the summary of a `Formula` in CloudWatch."""

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
        return f"{RUNBOOKS}#{self.name.lower()}"
