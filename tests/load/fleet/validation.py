"""The simulation beside the runs that were really made, rate by rate."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.load.fleet.fleet import Outcome, Plan, Run
from tests.load.fleet.inputs import Inputs, Kind, Mode, TurnPlan

WITHIN = 0.15
SEEDS = 5
"""Runs of each: a run of twenty seconds near the knee is an accident."""
ANY, CACHED = "any", "cached"


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure of a real run, and the median of the simulated ones. `disturbed` is a run beside which others worked."""

    calls: float
    what: str
    measured: float
    simulated: float
    disturbed: bool = False

    @property
    def off(self) -> float:
        return self.simulated / self.measured - 1

    @property
    def met(self) -> bool:
        return abs(self.off) <= WITHIN


def compared(inputs: Inputs) -> list[Compared]:
    return [*_steps(inputs), *_stack(inputs)]


def _steps(inputs: Inputs) -> Iterator[Compared]:
    for calls, seconds, cpu_ms, live, p50, p99, refused in inputs.measured["steps"]:
        mode = _with(inputs.modes["embedded"], cpu_ms, live, calls * (1 - refused))
        turn = replace(inputs.turn, steps=({ANY: 1.0},) * 3, live={ANY: live})
        runs = [Run(Plan(calls, 1, seconds, seed=seed), mode, replace(inputs, turn=turn))() for seed in range(SEEDS)]
        disturbed = calls in inputs.measured["disturbed"]
        answered = statistics.median(each.answered for each in runs) / seconds
        yield Compared(calls, "answered calls/s", calls * (1 - refused), answered, disturbed)
        yield Compared(calls, "p50 ms", p50, _median_ms(runs, 0.5), disturbed)
        yield Compared(calls, "p99 ms", p99, _median_ms(runs, 0.99), disturbed)


def _with(mode: Mode, cpu_ms: float, live: float, calls: float) -> Mode:
    """Gives live calls what the measured CPU of that run leaves to them, when cached calls and the background have theirs."""
    mean = cpu_ms - mode.background_ms / calls
    kind = mode.kinds[ANY]
    whole = (mean - (1 - live) * mode.kinds[CACHED].loop_ms) / live
    own = Kind(kind.loop_ms, kind.spread, whole - kind.loop_ms)
    return replace(mode, kinds={**mode.kinds, ANY: own})


def _stack(inputs: Inputs) -> Iterator[Compared]:
    run = inputs.measured["stack"]
    steps = ({"search": 1.0}, {"recommend": 1.0}, {"order": 1.0})
    turn = TurnPlan(
        steps, {"search": 1, "recommend": 1, "order": 1}, inputs.turn.think_seconds, inputs.turn.longest_think_seconds
    )
    own = replace(inputs, turn=turn)
    runs = [Run(Plan(run["calls"], 1, run["seconds"], seed=seed), inputs.modes["stack"], own)() for seed in range(SEEDS)]
    yield Compared(run["calls"], "real stack, p50 ms", run["p50_ms"], _median_ms(runs, 0.5))
    yield Compared(run["calls"], "real stack, p99 ms", run["p99_ms"], _median_ms(runs, 0.99))


def _median_ms(runs: list[Outcome], share: float) -> float:
    return statistics.median(each.ms(share) for each in runs)
