"""The dashboard as Grafana is given it, with what a Prometheus answers to the queries of each panel."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.stack.prometheus import Prometheus
from tests.support.compose import OBSERVABILITY

BOARD = OBSERVABILITY / "dashboards/manga-tools.json"
COLUMNS = 24
POINTS = 240
"""Of a line, which is what a panel of Grafana asks for at that width."""


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    points: list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """`x`, `y`, `w`, `h` are in cells of the grid. `words` are what values are called, lowest first, where they have names."""

    title: str
    unit: str
    x: int
    y: int
    w: int
    h: int
    most: float | None
    words: tuple[str, ...]
    lines: tuple[Line, ...]


def panels(prometheus: Prometheus, start: float, end: float) -> list[Panel]:
    """Every panel, with what its own queries came to from `start` to `end`, in seconds since 1970."""
    board = json.loads(BOARD.read_text("utf-8"))
    return [_panel(each, tuple(_lines(each, prometheus, start, end))) for each in board["panels"]]


def _panel(said: dict[str, Any], lines: tuple[Line, ...]) -> Panel:
    defaults, at = said["fieldConfig"]["defaults"], said["gridPos"]
    named = {value: each["text"] for of in defaults.get("mappings", []) for value, each in of["options"].items()}
    words = tuple(named[value] for value in sorted(named, key=int))
    most = defaults.get("max")
    return Panel(said["title"], defaults["unit"], at["x"], at["y"], at["w"], at["h"], most, words, lines)


def _lines(panel: dict[str, Any], prometheus: Prometheus, start: float, end: float) -> Iterator[Line]:
    for target in panel["targets"]:
        for series in prometheus.over(target["expr"], start, end, max(1.0, (end - start) / POINTS)):
            if series.points:
                yield Line(_legend(target["legendFormat"], series.labels), series.points)


def _legend(pattern: str, labels: dict[str, str]) -> str:
    """As Grafana writes it: {{name}} is that label's value."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), pattern).strip()
