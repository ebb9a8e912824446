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
class Alarm:
    """`expression` has to hold for `minutes`; `summary` and `do` may name labels as Prometheus's templates do. `watch` is
    None for what CloudWatch is not told of: its series have more labels than are worth their price there."""

    name: str
    severity: str
    summary: str
    do: str
    expression: str
    minutes: int = 0
    watch: Watch | Share | None = None

    @property
    def runbook(self) -> str:
        """Where its section is."""
        return f"{RUNBOOKS}#{self.name.lower()}"
