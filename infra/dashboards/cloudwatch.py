"""Generates CloudWatch's dashboard from the panels that have CloudWatch metrics, a log query, or an alarm's metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.alarms.cloudwatch import Deployed, alarms
from infra.dashboards.layout import placed
from infra.dashboards.panel import Panel, Shown
from infra.dashboards.panels import PANELS
from tools.store.backends.dynamodb.tables import TABLES

PERIOD_SECONDS = 60


def body(namespace: str, region: str, service: str = "manga-tools") -> dict[str, Any]:
    """Returns the DashboardBody before its encoding as JSON. `namespace`: CloudWatch namespace of the server's metrics
    (MANGA_EMF). `service`: the ECS service, named PREFIX-PART; PREFIX also begins the names of cache and search, and without
    "-tools" those of tables. The log group is "/" and the service's name."""
    panels = [panel for panel in PANELS if panel.shown or panel.logged or panel.alarm]
    return {"widgets": [_widget(panel, x, y, namespace, region, service) for panel, x, y in placed(panels)]}


def _widget(panel: Panel, x: int, y: int, namespace: str, region: str, service: str) -> dict[str, Any]:
    what: dict[str, Any] = {"title": panel.title, "region": region}
    if panel.logged:
        what |= {"view": "table", "query": f"SOURCE '/{service}' | {panel.logged}"}
    else:
        lines = [line for at, shown in enumerate(panel.shown) for line in _lines(shown, f"m{at}", namespace, service)]
        if panel.alarm:
            own = _alarm(panel.alarm, namespace)
            lines += _own_metric(panel.alarm, own)
            what["annotations"] = {"horizontal": [{"label": panel.alarm, "value": own["Threshold"]}]}
        what |= {"view": "timeSeries", "period": PERIOD_SECONDS, "metrics": lines, "yAxis": {"left": {"min": 0}}}
    kind = "log" if panel.logged else "metric"
    return {"type": kind, "x": x, "y": y, "width": panel.width, "height": panel.height, "properties": what}


def _alarm(name: str, namespace: str) -> dict[str, Any]:
    named = {
        each["Properties"]["AlarmName"]: each["Properties"] for each in alarms(Deployed("", namespace, "", "")).values()
    }
    return dict(named[f"-{name}"])


def _own_metric(name: str, alarm: dict[str, Any]) -> Iterator[list[Any]]:
    for each in alarm["Metrics"]:
        if stat := each.get("MetricStat"):
            metric = stat["Metric"]
            dimensions = [word for pair in metric["Dimensions"] for word in (pair["Name"], pair["Value"])]
            options = {"id": each["Id"], "stat": stat["Stat"], "period": stat["Period"], "visible": False}
            yield [metric["Namespace"], metric["MetricName"], *dimensions, options]
        else:
            yield [{"id": each["Id"], "expression": each["Expression"], "label": name}]


def _lines(shown: Shown, name: str, namespace: str, service: str) -> Iterator[list[Any]]:
    options = {"stat": shown.statistic, "label": f"{shown.number} {shown.statistic}"}
    if shown.native:
        dimensions, _, holding = shown.native.partition(" ")
        named = holding.format(service=service, prefix=service.rpartition("-")[0])
        found = f"SEARCH('{{{dimensions}}} MetricName=\"{shown.number}\" {named}', '{shown.statistic}')"
        yield [{"expression": found, "label": "", "id": f"{name}each"}]
    elif shown.tables:
        start = f"{service.rpartition('-')[0].replace('-tools', '')}-"
        for table in TABLES:
            of = ["AWS/DynamoDB", shown.number, "TableName", table.full_name(start)]
            yield [*of, {"stat": shown.statistic}]
            indexes = (index.name for index in table.indexes if index.partition_key)
            yield from ([*of, "GlobalSecondaryIndexName", index, {"stat": shown.statistic}] for index in indexes)
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
