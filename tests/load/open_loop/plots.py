"""The three plots of the report."""

from __future__ import annotations

from pathlib import Path

from tests.load.charts import BLUE, GREEN, INK, ORANGE, RED, chart
from tests.load.open_loop.measured import TURN_SECONDS
from tests.load.open_loop.on_stack import TIMES_THE_BACKENDS, OnStack
from tests.load.open_loop.soak import Soak, slope
from tests.load.open_loop.steps import Steps
from tests.load.results import percentile

FOLDER = Path(__file__).resolve().parents[1]
PERCENTILES = ((0.5, "p50", GREEN), (0.99, "p99", BLUE), (0.999, "p99.9", ORANGE))
MILLISECONDS = (1, 10, 100, 1000)
BUDGET_MS = 1000 * TURN_SECONDS


def plot_steps(steps: Steps, file: Path = FOLDER / "open_loop_steps.svg") -> None:
    shown = [*steps.measured, *([steps.overload] if steps.overload else [])]
    shown.sort(key=lambda step: step.rate)
    with chart(file, "A call's latency, counted from when it was due", "calls/s offered", "ms") as axes:
        for share, name, colour in PERCENTILES:
            points = [(step.rate, ms) for step in shown if (ms := step.ms(share)) is not None]
            axes.plot(*zip(*points, strict=True), marker="o", markersize=4, color=colour, label=name)
        axes.axhline(BUDGET_MS, color=RED, linestyle="--", label="a turn's budget")
        if steps.knee:
            axes.axvline(steps.knee, color=INK, linestyle=":", label=f"knee, {steps.knee:g} calls/s")
        axes.set_yscale("log")
        axes.set_xscale("log")
        axes.set_xticks([step.rate for step in shown], [f"{step.rate:g}" for step in shown], rotation=45)
        axes.set_yticks(MILLISECONDS, [f"{ms:g}" for ms in MILLISECONDS])
        axes.minorticks_off()


def plot_soak(soak: Soak, file: Path = FOLDER / "soak_memory.svg") -> None:
    minutes = [sample.at / 60 for sample in soak.samples]
    with chart(file, f"Memory at {soak.measured.rate:g} calls/s", "minutes", "MB") as axes:
        axes.plot(minutes, [sample.rss for sample in soak.samples], color=BLUE, label="server, RSS")
        axes.plot(minutes, [sample.valkey_rss for sample in soak.samples], color=ORANGE, label="Valkey, RSS")
        axes.plot(minutes, [sample.valkey_used for sample in soak.samples], color=GREEN, label="Valkey, used", linewidth=1)
        ends = [soak.settled[0], soak.settled[-1]]
        mean_at = sum(sample.at for sample in soak.settled) / len(soak.settled)
        mean = sum(sample.rss for sample in soak.settled) / len(soak.settled)
        steep = slope([(sample.at, sample.rss) for sample in soak.settled])
        line = [mean + steep * (sample.at - mean_at) for sample in ends]
        label = f"{soak.slope:+.2f} MB a minute\n({soak.halves[0]:+.2f}, then {soak.halves[1]:+.2f})"
        axes.plot([sample.at / 60 for sample in ends], line, color=RED, linestyle="--", label=label)
        axes.set_ylim(bottom=0)


def plot_stack(run: OnStack, file: Path = FOLDER / "open_loop_stack.svg") -> None:
    turns = sorted(1000 * each for each in run.measured.turns)
    most = TIMES_THE_BACKENDS * run.backends_p99_ms
    shown = [each for each in turns if each <= percentile(turns, 0.995)]
    with chart(file, "Turns of three uncached calls on the real stack", "ms, without the agent's thinking", "turns") as axes:
        axes.hist(shown, bins=50, color=BLUE)
        axes.axvline(run.turn_p99_ms, color=ORANGE, label=f"p99 {run.turn_p99_ms:.0f} ms")
        axes.axvline(most, color=RED, linestyle="--", label=f"twice the backends'\nown p99, {most:.0f} ms")
