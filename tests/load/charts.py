"""Axes to draw on, in the style of tests/support/charts.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl

from tests.support.charts import ALARM, DARK, FAINT, INK, PALETTE, STYLE  # first: it chooses the backend

from matplotlib import pyplot  # isort: skip

GREEN, BLUE, ORANGE = PALETTE[:3]
RED = ALARM
__all__ = ["BLUE", "GREEN", "INK", "ORANGE", "RED", "chart"]


@contextmanager
def chart(file: Path, title: str, across: str, up: str, size: tuple[float, float] = (9.0, 3.4)) -> Iterator[Any]:
    """The file is written at the end of the block, and is the same for the same figures."""
    with mpl.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=size, layout="constrained")
        try:
            axes.set_title(title, loc="left")
            axes.set(xlabel=across, ylabel=up)
            axes.grid(color=FAINT, linewidth=0.5)
            axes.set_axisbelow(True)
            yield axes
            if axes.get_legend_handles_labels()[0]:
                axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))  # beside the plot, on top of nothing
            figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        finally:
            pyplot.close(figure)
    text = file.read_text("utf-8")
    text = re.sub(r"\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", text)
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    file.write_text(re.sub(r"(<svg [^>]*>)", rf"\1{DARK}", text, count=1), "utf-8")
