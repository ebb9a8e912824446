"""A dashboard's panels in its grid, as a PNG: an arrangement of what Prometheus answered, and no picture of Grafana."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from tests.observability.board import COLUMNS, Panel

PIXELS_WIDE = 1400
ROW_PIXELS = 27
TOP_PIXELS = 66
DPI = 100
PAPER, CARD, EDGE, INK, PALE, FAULT = "#f4f5f7", "#ffffff", "#d8dce1", "#24292f", "#6e7781", "#cf222e"
LINES = ("#1f883d", "#0969da", "#bf8700", "#8250df", "#cf222e", "#1b7c83", "#bc4c00", "#57606a", "#bf3989", "#4d2d00")
STATES = ("#1f883d", "#bf8700", "#cf222e")
FAULT_SHARE = 0.08
MOST_NAMED = 8
LETTER_PIXELS = 5.4
STYLE = {"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "text.color": INK, "axes.linewidth": 0.6}


@dataclass(frozen=True, slots=True)
class Told:
    """What stands above the panels, and from when to when something was broken, in the lines' own time."""

    title: str
    caption: str
    start: float
    end: float
    fault: tuple[float, float]


def draw(path: Path, panels: Sequence[Panel], told: Told, pixels_wide: int = PIXELS_WIDE) -> None:
    """Writes the picture. The smaller it is, the smaller is everything in it."""
    rows = max(panel.y + panel.h for panel in panels)
    height = TOP_PIXELS + rows * ROW_PIXELS
    dpi = DPI * pixels_wide / PIXELS_WIDE
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(PIXELS_WIDE / DPI, height / DPI), dpi=dpi, facecolor=PAPER)
        figure.text(14 / PIXELS_WIDE, 1 - 24 / height, told.title, size=13, weight="bold", va="center")
        figure.text(14 / PIXELS_WIDE, 1 - 48 / height, told.caption, size=7.5, color=PALE, va="center")
        for panel in panels:
            _panel(figure, panel, told, height)
        kept = io.BytesIO()
        figure.savefig(kept, format="png", facecolor=PAPER)
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for color in _colors() for part in color])
    Image.open(kept).convert("RGB").quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)


def _colors() -> list[tuple[int, ...]]:
    """What is drawn, and its edges' way into what is behind it: a third of the bytes, and no line loses its colour."""
    cards = [_rgb(CARD), _mixed(_rgb(FAULT), _rgb(CARD), FAULT_SHARE)]
    drawn = [_rgb(each) for each in (INK, PALE, EDGE, *LINES)]
    return [_rgb(PAPER), *cards, *(_mixed(each, card, part / 4) for each in drawn for card in cards for part in range(1, 5))]


def _rgb(color: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(color[1:]))


def _mixed(color: tuple[int, ...], back: tuple[int, ...], share: float) -> tuple[int, ...]:
    return tuple(round(one * share + other * (1 - share)) for one, other in zip(color, back, strict=True))


def _panel(figure: Figure, panel: Panel, told: Told, height: float) -> None:
    cell = PIXELS_WIDE / COLUMNS
    left, top = panel.x * cell + 5, TOP_PIXELS + panel.y * ROW_PIXELS + 4
    wide, tall = panel.w * cell - 10, panel.h * ROW_PIXELS - 8
    card = (left / PIXELS_WIDE, 1 - (top + tall) / height, wide / PIXELS_WIDE, tall / height)
    back = figure.add_axes(card, facecolor=CARD, xticks=[], yticks=[])
    back.spines[:].set_color(EDGE)
    named = min(len(panel.lines), MOST_NAMED)
    foot = 26 + 13 * -(-named // _columns(panel))
    inner = (left + 56, top + 26, wide - 68, tall - 26 - foot)
    axes = figure.add_axes(
        (inner[0] / PIXELS_WIDE, 1 - (inner[1] + inner[3]) / height, inner[2] / PIXELS_WIDE, inner[3] / height)
    )
    figure.text((left + 9) / PIXELS_WIDE, 1 - (top + 14) / height, panel.title, size=8, weight="bold", va="center")
    _lines(axes, panel, told)
    if named:
        place = ((left + 9) / PIXELS_WIDE, 1 - (top + tall - 4) / height)
        axes.legend(
            *_legend(axes),
            loc="lower left",
            bbox_to_anchor=place,
            bbox_transform=figure.transFigure,
            ncols=_columns(panel),
            fontsize=6.2,
            frameon=False,
            handlelength=1.2,
            columnspacing=1.2,
            labelspacing=0.25,
            borderaxespad=0,
            borderpad=0,
            labelcolor=INK,
        )


def _columns(panel: Panel) -> int:
    """As many as have room beside each other."""
    longest = max((len(line.label) for line in panel.lines), default=1)
    return max(1, int(panel.w * PIXELS_WIDE / COLUMNS / (LETTER_PIXELS * longest + 34)))


def _legend(axes: Any) -> tuple[list[Any], list[str]]:
    """The first of them; how many more there are stands with the last."""
    handles, labels = axes.get_legend_handles_labels()
    more = len(labels) - MOST_NAMED
    if more > 0:
        labels = [*labels[: MOST_NAMED - 1], f"and {more + 1} more"]
    return handles[: len(labels)], labels


def _lines(axes: Any, panel: Panel, told: Told) -> None:
    axes.axvspan(*((each - told.start) / 60 for each in told.fault), color=FAULT, alpha=FAULT_SHARE, linewidth=0)
    for number, line in enumerate(panel.lines):
        x, y = [(at - told.start) / 60 for at, _ in line.points], [value for _, value in line.points]
        axes.plot(x, y, color=LINES[number % len(LINES)], linewidth=1.1, label=line.label, solid_joinstyle="round")
    highest = max((value for line in panel.lines for _, value in line.points), default=0)
    axes.set_xlim(0, (told.end - told.start) / 60)
    axes.set_ylim(0, (panel.most or highest or 1) * 1.06)
    axes.tick_params(labelsize=6.2, colors=PALE, length=2, width=0.6)
    axes.grid(color=EDGE, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(EDGE)
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} min")
    axes.yaxis.set_major_locator(mpl.ticker.MaxNLocator(4))
    axes.yaxis.set_major_formatter(lambda value, _: _with_unit(value, panel.unit))
    if panel.words:
        axes.set_yticks(range(len(panel.words)), panel.words)
        for label, color in zip(axes.get_yticklabels(), STATES, strict=False):
            label.set_color(color)


def _with_unit(value: float, unit: str) -> str:
    """Grafana's words for units, as it writes them."""
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit == "s":
        return f"{value:.3g} s" if value >= 1 or not value else f"{value * 1000:.3g} ms"
    if unit == "bytes":
        return f"{value / 2**20:.0f} MiB"
    return f"{value:.3g}{ {'ops': ' ops/s', 'reqps': ' req/s'}.get(unit, '') }"
