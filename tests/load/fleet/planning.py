"""How many tasks a shop needs, and what happens to them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.load.fleet.demand import Demand
from tests.load.fleet.fleet import NOTHING, OPENSEARCH, REDIS, ZONE, Outcome, Plan, Run
from tests.load.fleet.inputs import Inputs

VOLUMES = (10_000, 1_000_000, 100_000_000)
PRODUCTION = "production"
MOST_TASKS = 9
"""Tasks that are simulated of a larger fleet, with their share of what comes: turns are spread at random, and none hears of
another's."""
TRIAL_SECONDS, FINEST = 60.0, 2.0
LEAST_CALLS, LONGEST_SECONDS, SECONDS = 3_000, 3_600.0, 45.0
HIGHEST_RATE = 1_000.0


@dataclass(frozen=True, slots=True)
class Capacity:
    """Calls a second that one task takes within the bars, with everything there, without Redis, and without OpenSearch."""

    whole: float
    without_redis: float
    without_opensearch: float


@dataclass(frozen=True, slots=True)
class Row:
    """One situation of one volume: calls a second, tasks, and what came of it."""

    messages: int
    situation: str
    calls: float
    tasks: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Fleet:
    """Tasks for one volume: for the busiest hour, and so that a zone, Redis or OpenSearch may go; and for a flash sale."""

    messages: int
    peak_calls: float
    busiest: int
    zone: int
    redis: int
    opensearch: int
    sale: int

    @property
    def kept(self) -> int:
        """What is kept for the busiest hour: enough whatever goes but for Redis, without which all is live."""
        return max(self.busiest, self.zone, self.opensearch)


def capacity(inputs: Inputs) -> Capacity:
    return Capacity(*(_most(lambda rate, away=away: _fine(inputs, rate, away)) for away in (NOTHING, REDIS, OPENSEARCH)))


def _most(fine: Callable[[float], bool]) -> float:
    """Searches for the highest rate that is fine, to the next two calls a second."""
    low, high = 0.0, HIGHEST_RATE
    while high - low > FINEST:
        middle = (low + high) / 2
        low, high = (middle, high) if fine(middle) else (low, middle)
    return low


def _fine(inputs: Inputs, rate: float, away: str) -> bool:
    """Tells whether one task bears it, long after the breakers have opened."""
    mode = inputs.modes[PRODUCTION]
    if rate / 1000 * mode.kinds["cached"].loop_ms > 1:
        return False  # more than a processor has, even if every answer were in the cache
    run = Run(Plan(rate, 1, TRIAL_SECONDS), mode, inputs)
    run.goes_already(away)
    outcome = run()
    return outcome.ms(0.99) <= inputs.plan["p99_ms"] and outcome.refused_share <= inputs.plan["refused"]


def fleet_for(messages: int, bears: Capacity, inputs: Inputs) -> Fleet:
    demand, zones, steps = Demand(messages, inputs.day), inputs.plan["zones"], len(inputs.turn.steps)
    peak = demand.peak * steps

    def tasks(calls: float, each: float) -> int:
        return max(zones, zones * math.ceil(calls / each / zones))

    return Fleet(
        messages,
        peak,
        tasks(peak, bears.whole),
        tasks(peak * zones / (zones - 1), bears.whole),
        tasks(peak, bears.without_redis),
        tasks(peak, bears.without_opensearch),
        tasks(demand.flash_sale * steps, bears.whole),
    )


def situations(fleet: Fleet, inputs: Inputs) -> list[Row]:
    """Simulates the busiest hour of one volume: as it is, with each thing that may go, and a sale with and without the tasks
    that it takes."""
    sale = fleet.peak_calls * inputs.day["flash_sale_times"]
    planned = [
        ("the busiest hour", fleet.peak_calls, fleet.kept, NOTHING),
        ("a zone goes", fleet.peak_calls, fleet.kept, ZONE),
        ("OpenSearch goes", fleet.peak_calls, fleet.kept, OPENSEARCH),
        ("Redis goes", fleet.peak_calls, fleet.kept, REDIS),
        ("Redis goes, with tasks for it", fleet.peak_calls, max(fleet.kept, fleet.redis), REDIS),
        ("a flash sale", sale, fleet.kept, NOTHING),
        ("a flash sale, with tasks for it", sale, max(fleet.kept, fleet.sale), NOTHING),
    ]
    return [
        Row(fleet.messages, name, calls, tasks, simulated(calls, tasks, goes, inputs))
        for name, calls, tasks, goes in planned
    ]


def simulated(calls: float, tasks: int, goes: str, inputs: Inputs) -> Outcome:
    """Runs a fleet, or `MOST_TASKS` of it; the counts are scaled to all of it."""
    shown = min(tasks, MOST_TASKS)
    rate = calls * shown / tasks
    seconds = min(LONGEST_SECONDS, max(SECONDS, LEAST_CALLS / rate))
    outcome = Run(Plan(rate, shown, seconds, goes), inputs.modes[PRODUCTION], inputs)()
    whole = tasks / shown
    counts = {name: round(whole * getattr(outcome, name)) for name in ("begun", "answered", "refused", "lost", "degraded")}
    return replace(outcome, **counts)
