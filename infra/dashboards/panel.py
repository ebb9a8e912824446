"""What a panel is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Query:
    """`expression` is PromQL; `legend` may name labels as Grafana does."""

    expression: str
    legend: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A number that goes to CloudWatch, by its name there. `per` shares it out: bad over bad and good; `each` has one line
    for each value of its dimension. `native` is of a number that AWS tells by itself: its namespace and the names of its
    dimensions, and what they are to hold, where `{service}`, `{prefix}` and `{tables}` are put in."""

    number: str
    statistic: str
    per: tuple[str, ...] = ()
    dimension: str | None = None
    native: str | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """`unit` is Grafana's word; `width` is in 24ths. `shown` is the same for CloudWatch, as far as it is told of it, and
    `logged` asks CloudWatch's log of it; a panel without `queries` is CloudWatch's alone. `most` is the highest value there
    is, where there is one; `words` name values."""

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
