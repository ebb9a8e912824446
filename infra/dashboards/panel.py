"""The definition of a dashboard panel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Query:
    """A query of a panel: `expression` is PromQL; `legend` may contain Grafana's label templates."""

    expression: str
    legend: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A metric in CloudWatch; `number` is its name. `per`: metrics whose sum divides it (bad by bad plus good); `dimension`:
    draws a line for each of its values. `native`, for a metric of AWS's own: its namespace, the names of its dimensions and
    their values, with the placeholders `{service}`, `{prefix}` and `{tables}`."""

    number: str
    statistic: str
    per: tuple[str, ...] = ()
    dimension: str | None = None
    native: str | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel. `unit`: Grafana's name of it; `width`: in 24ths. `shown`: the CloudWatch metrics, as far as there are any;
    `logged`: a query of CloudWatch's log; a panel without `queries` is only in CloudWatch. `most`: the highest possible
    value, if there is one; `words`: text and colour of each value, from 0."""

    title: str
    about: str
    queries: tuple[Query, ...]
    unit: str
    width: int
    shown: tuple[Shown, ...] = ()
    most: float | None = None
    words: tuple[tuple[str, str], ...] = ()
    logged: str | None = None

    @property
    def height(self) -> int:
        return 8 if self.width > 8 else 6
