"""Axes to draw on, with a title and a legend beside them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.charts import ALARM, FAINT, INK, PALETTE, drawing

GREEN, BLUE, ORANGE = PALETTE[:3]
RED = ALARM
__all__ = ["BLUE", "GREEN", "INK", "ORANGE", "RED", "chart"]


@contextmanager
def chart(file: Path, title: str, across: str, up: str, height: float = 3.4) -> Iterator[Any]:
    """The file is written at the end of the block."""
    with drawing(file, height) as axes:
        axes.set_title(title, loc="left")
        axes.set(xlabel=across, ylabel=up)
        axes.grid(color=FAINT, linewidth=0.5)
        axes.set_axisbelow(True)
        yield axes
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))  # beside the plot, on top of nothing
