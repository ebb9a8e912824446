"""Lays out panels from left to right, with a new row when a row is full. Grafana and CloudWatch both have 24 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.dashboards.panel import Panel

COLUMNS = 24


def placed(panels: Sequence[Panel]) -> Iterator[tuple[Panel, int, int]]:
    """Yields each panel with the column and row of its upper left corner."""
    x = y = tallest = 0
    for panel in panels:
        if x + panel.width > COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        yield panel, x, y
        x, tallest = x + panel.width, max(tallest, panel.height)
