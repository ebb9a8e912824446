"""Generates Grafana's dashboard: `infra/observability/dashboards/manga-tools.json`."""

from __future__ import annotations

import json
from typing import Any

from infra.dashboards.layout import placed
from infra.dashboards.panel import Panel, Query
from infra.dashboards.panels import PANELS

SOURCE = {"type": "prometheus", "uid": "prometheus"}
BOARD = {
    "uid": "manga-tools",
    "title": "Manga store tools",
    "tags": ["manga-tools"],
    "timezone": "browser",
    "editable": False,
    "schemaVersion": 41,
    "version": 1,
    "refresh": "5s",
    "time": {"from": "now-15m", "to": "now"},
}
OPTIONS = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}


def board() -> str:
    panels = [
        _panel(number, *where) for number, where in enumerate(placed([panel for panel in PANELS if panel.queries]), start=1)
    ]
    return json.dumps({**BOARD, "panels": panels}, indent=2, ensure_ascii=False) + "\n"


def _panel(number: int, panel: Panel, x: int, y: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height},
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": OPTIONS,
        "targets": [_target(chr(ord("A") + index), query) for index, query in enumerate(panel.queries)],
    }


def _target(name: str, query: Query) -> dict[str, Any]:
    target = {"refId": name, "datasource": SOURCE, "expr": query.expression, "legendFormat": query.legend}
    # Exemplars of a histogram link to their traces.
    return {**target, "exemplar": True} if "_bucket" in query.expression else target


def _defaults(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0}
    if panel.most is not None:
        defaults["max"] = panel.most
    if panel.words:
        options = {str(value): {"text": text, "color": color} for value, (text, color) in enumerate(panel.words)}
        defaults["mappings"] = [{"type": "value", "options": options}]
    return defaults
