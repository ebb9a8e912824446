"""What an alarm is."""

from __future__ import annotations

from dataclasses import dataclass

RUNBOOKS = "infra/RUNBOOKS.md"


@dataclass(frozen=True, slots=True)
class Watch:
    """The same in CloudWatch: `datapoints` of the last `periods` minutes are above (or `below`) the threshold. `missing` is
    CloudWatch's treatment of minutes that nothing was told of; `dimension` with its values makes an alarm of each."""

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
    """The same in CloudWatch, of two counts: for `minutes` in a row the share of `bad` is above `most`."""

    bad: str
    good: str
    most: float
    minutes: int


@dataclass(frozen=True, slots=True)
class Part:
    """A number of a formula, by its name there. With a `dimension`, a name and a value, the collector reads it in /metrics,
    where it has this name too (infra/observability/aws.yml); without one the server tells it."""

    name: str
    metric: str
    dimension: tuple[str, str] | None = ("Service", "manga-tools")
    statistic: str = "Sum"


@dataclass(frozen=True, slots=True)
class Formula:
    """The same in CloudWatch, by its metric math: for `periods` in a row, each of so many minutes, `expression` is above
    `most`. The parts are of all tasks and labels together."""

    expression: str
    parts: tuple[Part, ...]
    most: float
    minutes: int
    periods: int = 1


@dataclass(frozen=True, slots=True)
class Alarm:
    """`expression` has to hold for `minutes`; `summary` and `do` may name labels as Prometheus's templates do, for
    which CloudWatch reads `otherwise`, if there is one."""

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
        """Where its section is."""
        return f"{RUNBOOKS}#{self.name.lower()}"
