"""Definition of a dashboard panel, for Grafana and CloudWatch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Query:
    """Prometheus query of a panel. `expression` is PromQL; `legend` may contain Grafana's label templates."""

    expression: str
    legend: str


@dataclass(frozen=True, slots=True)
class Shown:
    """CloudWatch metric of a panel; `number` is the metric's name. `per`: metrics whose sum divides the metric, to show a
    share. `dimension`: draw a line for each of its values. `native`, for a metric of an AWS service: namespace and names of
    dimensions, then a search term, in which `{service}` and `{prefix}` are replaced. `tables`: draw a line for each DynamoDB
    table and each global index, which a search by name would only find if it named them whole."""

    number: str
    statistic: str
    per: tuple[str, ...] = ()
    dimension: str | None = None
    native: str | None = None
    tables: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Dashboard panel. `unit`: Grafana's name of the unit. `width`: in 24ths. `queries`: for Grafana; without them, the
    panel is only in CloudWatch. `shown`, `logged`: CloudWatch metrics, or a log query; without either, the panel is only in
    Grafana. `most`: the highest possible value, if known. `words`: text and colour of each value, from 0. `alarm`: name of
    an alarm whose own metric and threshold CloudWatch shows."""

    title: str
    about: str
    queries: tuple[Query, ...]
    unit: str
    width: int
    shown: tuple[Shown, ...] = ()
    most: float | None = None
    words: tuple[tuple[str, str], ...] = ()
    logged: str | None = None
    alarm: str | None = None

    @property
    def height(self) -> int:
        return 8 if self.width > 8 else 6
