"""Generates CloudWatch's dashboard from the panels that have CloudWatch metrics or a log query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.dashboards.layout import placed
from infra.dashboards.panel import Panel, Shown
from infra.dashboards.panels import PANELS

PERIOD_SECONDS = 60


def body(namespace: str, region: str, service: str = "manga-tools") -> dict[str, Any]:
    """Returns the DashboardBody before its encoding as JSON. `namespace`: CloudWatch namespace of the server's metrics
    (MANGA_EMF). `service`: the ECS service, named PREFIX-PART; PREFIX also begins the names of cache and search, and without
    "-tools" those of tables. The log group is "/" and the service's name."""
    panels = [panel for panel in PANELS if panel.shown or panel.logged]
    return {"widgets": [_widget(panel, x, y, namespace, region, service) for panel, x, y in placed(panels)]}


def _widget(panel: Panel, x: int, y: int, namespace: str, region: str, service: str) -> dict[str, Any]:
    what: dict[str, Any] = {"title": panel.title, "region": region}
    if panel.logged:
        what |= {"view": "table", "query": f"SOURCE '/{service}' | {panel.logged}"}
    else:
        lines = [line for at, shown in enumerate(panel.shown) for line in _lines(shown, f"m{at}", namespace, service)]
        what |= {"view": "timeSeries", "period": PERIOD_SECONDS, "metrics": lines, "yAxis": {"left": {"min": 0}}}
    kind = "log" if panel.logged else "metric"
    return {"type": kind, "x": x, "y": y, "width": panel.width, "height": panel.height, "properties": what}


def _lines(shown: Shown, name: str, namespace: str, service: str) -> Iterator[list[Any]]:
    options = {"stat": shown.statistic, "label": f"{shown.number} {shown.statistic}"}
    if shown.native:
        dimensions, _, holding = shown.native.partition(" ")
        prefix = service.rpartition("-")[0]
        named = holding.format(service=service, prefix=prefix, tables=prefix.replace("-tools", ""))
        found = f"SEARCH('{{{dimensions}}} MetricName=\"{shown.number}\" {named}', '{shown.statistic}')"
        yield [{"expression": found, "label": "", "id": f"{name}each"}]
    elif shown.per:
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
