"""CloudWatch's dashboard: those panels of which it is told something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.dashboards.layout import placed
from infra.dashboards.panel import Panel, Shown
from infra.dashboards.panels import PANELS

PERIOD_SECONDS = 60


def body(namespace: str, region: str) -> dict[str, Any]:
    """Returns what DashboardBody holds, not yet as text. `namespace` is MANGA_EMF's; `region` may be a reference of a
    template where the text is made of it by the template too."""
    panels = [panel for panel in PANELS if panel.shown]
    return {"widgets": [_widget(panel, x, y, namespace, region) for panel, x, y in placed(panels)]}


def _widget(panel: Panel, x: int, y: int, namespace: str, region: str) -> dict[str, Any]:
    lines = [line for index, shown in enumerate(panel.shown) for line in _lines(shown, f"m{index}", namespace)]
    return {
        "type": "metric",
        "x": x,
        "y": y,
        "width": panel.width,
        "height": panel.height,
        "properties": {
            "title": panel.title,
            "view": "timeSeries",
            "region": region,
            "period": PERIOD_SECONDS,
            "metrics": lines,
            "yAxis": {"left": {"min": 0}},
        },
    }


def _lines(shown: Shown, name: str, namespace: str) -> Iterator[list[Any]]:
    options = {"stat": shown.statistic, "label": f"{shown.number} {shown.statistic}"}
    if shown.per:
        yield from (
            [namespace, part, {"stat": "Sum", "id": f"{name}{part.lower()}", "visible": False}] for part in shown.per
        )
        parts = " + ".join(f"{name}{part.lower()}" for part in shown.per)
        yield [{"expression": f"{name}{shown.number.lower()} / ({parts})", "label": f"share of {shown.number}"}]
    elif shown.dimension:
        found = f"SEARCH('{{{namespace},{shown.dimension}}} MetricName=\"{shown.number}\"', '{shown.statistic}')"
        yield [{"expression": found, "label": "", "id": f"{name}each"}]
    else:
        yield [namespace, shown.number, options]
