"""The definition of a panel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Query:
    """A query of a panel: `expression` is PromQL; `legend` may name labels as Grafana does."""

    expression: str
    legend: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A metric in CloudWatch, by its name there. `per` divides it: bad by bad and good; a `dimension` gives each of its
    values a line. `native` marks a metric of AWS's own: its namespace, the names of its dimensions and their values, in
    which `{service}`, `{prefix}` and `{tables}` are replaced."""

    number: str
    statistic: str
    per: tuple[str, ...] = ()
    dimension: str | None = None
    native: str | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel. `unit` is Grafana's word; `width` is in 24ths. `shown` is the same for CloudWatch, as far as it has the
    metrics, and `logged` asks CloudWatch's log; a panel without `queries` is CloudWatch's alone. `most` is the highest
    possible value, if there is one; `words` name values."""

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
