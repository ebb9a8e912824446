"""Reproducible SVG plots that can be read on light and on dark pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot

INK = "#57606a"
FAINT = "#8c959f40"
ALARM = "#cf222e"
PALETTE = ("#2da44e", "#54aeff", "#bf8700", "#8250df", "#d4a72c", "#cf222e", "#6e7781")
DARK = "<style>@media (prefers-color-scheme: dark) { text { fill: #c9d1d9 !important } }</style>"
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "manga",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 8,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


@contextmanager
def drawing(path: Path, height: float) -> Iterator[Any]:
    """Yields axes of 9 by `height` inches, and writes them to the SVG file `path` after the block; the same plot gives the
    same bytes. If the block raises, writes nothing."""
    with mpl.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(9, height), layout="constrained")
        try:
            yield axes
            figure.savefig(path, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        finally:
            pyplot.close(figure)
    text = path.read_text("utf-8")
    # Coordinates need no six digits, and dark pages need another text colour.
    text = re.sub(r"\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", text)
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    path.write_text(re.sub(r"(<svg [^>]*>)", rf"\1{DARK}", text, count=1), "utf-8")
