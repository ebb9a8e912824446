"""The definition of an alarm."""

from __future__ import annotations

from dataclasses import dataclass

RUNBOOKS = "infra/RUNBOOKS.md"


@dataclass(frozen=True, slots=True)
class Watch:
    """The alarm in CloudWatch: `datapoints` of the last `periods` minutes are above (or `below`) the threshold. `missing` is
    CloudWatch's treatment of minutes without data; `dimension` with its values makes an alarm of each."""

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
    """The alarm in CloudWatch, of two counts: for `minutes` in a row the share of `bad` is above `most`."""

    bad: str
    good: str
    most: float
    minutes: int


@dataclass(frozen=True, slots=True)
class Part:
    """A metric of a formula, by its `name` there. One with a `dimension`, a name and a value, is read by the collector from
    /metrics under the same name (infra/observability/aws.yml); others are published by the server."""

    name: str
    metric: str
    dimension: tuple[str, str] | None = ("Service", "manga-tools")
    statistic: str = "Sum"


@dataclass(frozen=True, slots=True)
class Formula:
    """The alarm in CloudWatch, by its metric math: for `periods` in a row, each of `minutes`, `expression` is above `most`.
    The parts are summed over all tasks and labels."""

    expression: str
    parts: tuple[Part, ...]
    most: float
    minutes: int
    periods: int = 1


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm. `expression`, in PromQL, has to hold for `minutes`. `summary` and `do` may name labels as Prometheus's
    templates do; CloudWatch has `otherwise` in place of these, if it is set."""

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
        """The address of its runbook."""
        return f"{RUNBOOKS}#{self.name.lower()}"
