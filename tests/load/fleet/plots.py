"""The plots of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.load.charts import BLUE, GREEN, INK, ORANGE, RED, chart
from tests.load.fleet.demand import Demand
from tests.load.fleet.inputs import Inputs
from tests.load.fleet.planning import VOLUMES, Capacity, Row, fleet_for
from tests.load.fleet.validation import Compared

FOLDER = Path(__file__).resolve().parents[1]
VALIDATION, DAY, SITUATIONS = "fleet_validation.svg", "fleet_day.svg", "fleet_situations.svg"
COLOURS = (GREEN, BLUE, ORANGE)
MILLISECONDS = (1, 10, 100, 1000)


def plot_validation(found: Sequence[Compared]) -> None:
    with chart(FOLDER / VALIDATION, "Measured and simulated, one process, embedded backends", "calls/s", "ms") as axes:
        for what, colour in (("p50 ms", GREEN), ("p99 ms", BLUE)):
            own = [each for each in found if each.what == what]
            rates = [each.calls for each in own]
            axes.plot(rates, [each.measured for each in own], "o", color=colour, label=f"{what[:3]}, measured")
            axes.plot(rates, [each.simulated for each in own], "-", color=colour, label=f"{what[:3]}, simulated")
        axes.set_yscale("log")
        axes.set_yticks(MILLISECONDS, [f"{ms:g}" for ms in MILLISECONDS])
        axes.minorticks_off()


def plot_day(inputs: Inputs, bears: Capacity) -> None:
    """How many tasks each hour takes, and how many are kept."""
    with chart(FOLDER / DAY, "Tasks that each hour takes, and that are kept for the busiest one", "hour", "tasks") as axes:
        for messages, colour in zip(VOLUMES, COLOURS, strict=True):
            demand, fleet = Demand(messages, inputs.day), fleet_for(messages, bears, inputs)
            calls = [demand.at(hour) * len(inputs.turn.steps) for hour in range(24)]
            axes.plot(
                range(24), [max(0.001, each / bears.whole) for each in calls], color=colour, label=f"{messages:,} a day"
            )
            axes.axhline(fleet.kept, color=colour, linestyle=":", linewidth=1)
        axes.set_yscale("log")
        axes.set_yticks((0.01, 0.1, 1, 10, 100), ("0.01", "0.1", "1", "10", "100"))
        axes.minorticks_off()


def plot_situations(rows: Mapping[int, Sequence[Row]], budget_ms: float) -> None:
    """p50 to p99 of every situation."""
    names = [row.situation for row in rows[VOLUMES[0]]]
    with chart(FOLDER / SITUATIONS, "p50 to p99 of a call, what goes having gone", "ms", "") as axes:
        for place, (messages, colour) in enumerate(zip(VOLUMES, COLOURS, strict=True)):
            for number, row in enumerate(rows[messages]):
                height = number + (place - 1) * 0.22
                ends = [row.outcome.ms(0.5), row.outcome.ms(0.99)]
                axes.plot(
                    ends, [height] * 2, color=colour, marker="o", markersize=3, label=f"{messages:,}" if not number else None
                )
        axes.axvline(budget_ms, color=RED, linestyle="--", label=f"bar, {budget_ms:g} ms")
        axes.set_yticks(range(len(names)), names, color=INK)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xticks(MILLISECONDS, [f"{ms:g}" for ms in MILLISECONDS])
        axes.minorticks_off()
