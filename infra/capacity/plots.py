"""Plots dollars a month by messages a day, for each part of the bill."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from infra.capacity.inputs import Inputs, Prices
from infra.capacity.needs import Month, Need, dollars
from infra.capacity.traffic import Traffic
from infra.drawing import FAINT, PALETTE, drawing

PLOT = "capacity.svg"
DECADES = range(4, 9)
STEPS = 4
"""Points per decade."""


def volumes() -> list[float]:
    return [10 ** (decade + step / STEPS) for decade in DECADES[:-1] for step in range(STEPS)] + [10.0 ** DECADES[-1]]


def plot(inputs: Inputs, prices: Prices, folder: Path) -> None:
    messages = volumes()
    bills = [Month(Traffic(each, inputs), inputs.stages["prod"], prices)() for each in messages]
    parts = {part: _of(part, bills, prices) for part, _ in groupby(bills[0], key=lambda need: need.of)}
    with drawing(folder / PLOT, 3.6) as axes:
        largest = sorted(parts, key=lambda part: parts[part][-1], reverse=True)
        for colour, part in zip(PALETTE[:-1], largest, strict=False):
            axes.plot(messages, parts[part], color=colour, label=part)
        axes.plot(messages, [dollars(bill, prices) for bill in bills], color=PALETTE[-1], linestyle="--", label="in all")
        axes.set(xlabel="messages a day", ylabel="dollars a month", xscale="log", yscale="log")
        axes.set_ylim(1, None)
        axes.set_xticks(
            [10.0**decade for decade in DECADES], ["10 thousand", "100 thousand", "1 million", "10 million", "100 million"]
        )
        axes.minorticks_off()
        axes.grid(color=FAINT, linewidth=0.5)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _of(part: str, bills: list[list[Need]], prices: Prices) -> list[float]:
    return [dollars([need for need in bill if need.of == part], prices) for bill in bills]
