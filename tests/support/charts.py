"""Plots for reports, as SVG that is the same for the same figures and can be read on a light page and on a dark one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.drawing import ALARM, FAINT, INK, PALETTE, drawing

__all__ = ["ALARM", "FAINT", "INK", "PALETTE", "Line", "Spread", "drawing", "lines", "mixes", "spreads"]
ROW_INCHES = 0.19


@dataclass(frozen=True, slots=True)
class Spread:
    """One row: marks from left to right (as p50, p99, the worst), in the unit of the axis."""

    label: str
    marks: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    x: Sequence[float]
    y: Sequence[float]


def spreads(
    path: Path, rows: Sequence[Spread], names: Sequence[str], axis: str, limit: tuple[float, str] | None = None
) -> None:
    """A row each, a dot for each mark and a line from the first to the last; `limit` is where and what must not be passed."""
    with drawing(path, _height(len(rows))) as axes:
        for place, row in enumerate(rows):
            axes.plot([row.marks[0], row.marks[-1]], [place, place], color=FAINT, linewidth=3, solid_capstyle="round")
        for number, name in enumerate(names):
            at = [row.marks[number] for row in rows]
            axes.scatter(at, range(len(rows)), s=14, color=PALETTE[number], label=name, zorder=3)
        if limit is not None:
            axes.axvline(limit[0], color=ALARM, linewidth=1, linestyle="--", label=limit[1])
        _rows(axes, [row.label for row in rows], axis)


def mixes(path: Path, rows: Mapping[str, Mapping[str, float]], kinds: Sequence[str], axis: str) -> None:
    """A bar each, of the shares of each kind."""
    with drawing(path, _height(len(rows))) as axes:
        begin = [0.0] * len(rows)
        totals = [sum(row.get(kind, 0) for kind in kinds) or 1 for row in rows.values()]
        for number, kind in enumerate(kinds):
            wide = [100 * row.get(kind, 0) / total for row, total in zip(rows.values(), totals, strict=True)]
            axes.barh(range(len(rows)), wide, left=begin, height=0.72, color=PALETTE[number], label=kind)
            begin = [left + more for left, more in zip(begin, wide, strict=True)]
        axes.set_xlim(0, 100)
        _rows(axes, list(rows), axis)


def lines(path: Path, drawn: Sequence[Line], x_axis: str, y_axis: str, limit: tuple[float, str] | None = None) -> None:
    """One against the other; `limit` is a height that must not be passed."""
    with drawing(path, _height(18)) as axes:
        for number, line in enumerate(drawn):
            axes.plot(line.x, line.y, marker="o", markersize=3, color=PALETTE[number % len(PALETTE)], label=line.label)
        if limit is not None:
            axes.axhline(limit[0], color=ALARM, linewidth=1, linestyle="--", label=limit[1])
        axes.set(xlabel=x_axis, ylabel=y_axis)
        axes.grid(color=FAINT, linewidth=0.5)
        axes.set_axisbelow(True)
        axes.legend(loc="best")


def _rows(axes: Any, labels: Sequence[str], axis: str) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlabel(axis)
    axes.grid(axis="x", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=7, handlelength=1, columnspacing=1)


def _height(rows: int) -> float:
    """In inches."""
    return 0.9 + ROW_INCHES * rows
