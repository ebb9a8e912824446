"""The simulated fleet: against the closed formulas, what goes in comes out, and the kept report is what the inputs have."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from tests.load.fleet import closed_formula
from tests.load.fleet.demand import HOUR, Demand, arrivals
from tests.load.fleet.engine import Clock, Interpreter, Station
from tests.load.fleet.fleet import NOTHING, OPENSEARCH, REDIS, ZONE, Outcome, Plan, Run
from tests.load.fleet.inputs import Inputs, read_inputs
from tests.load.fleet.planning import VOLUMES, Capacity, fleet_for
from tests.load.fleet.report import details, report
from tests.load.open_loop.report import REPORT
from tests.load.report import FIGURES

PIECES = 60_000
SERVICE = 0.02


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    return read_inputs()


def mean_seconds(rate: float, use: Callable[[Clock, float, Callable[[], None]], None]) -> float:
    """How long a piece of work, exponential around 20 ms, takes on average, when so many come a second."""
    draw, clock, took = random.Random(7), Clock(), list[float]()

    def come(due: float, work: float) -> None:
        use(clock, work, lambda: took.append(clock.now - due))

    for due in arrivals(rate, PIECES / rate, draw):
        clock.after(due, partial(come, due, draw.expovariate(1 / SERVICE)))
    clock.run(PIECES / rate + 60)
    return sum(took) / len(took)


@pytest.mark.parametrize(("servers", "busy"), [(1, 0.5), (1, 0.8), (3, 0.7), (8, 0.9)])
def test_a_station_waits_as_erlang_says(servers: int, busy: float) -> None:
    """M/M/c."""
    stations: list[Station] = []

    def use(clock: Clock, work: float, then: Callable[[], None]) -> None:
        if not stations:
            stations.append(Station(clock, servers))
        stations[0].use(work, then)

    rate = busy * servers / SERVICE
    expected = SERVICE + closed_formula.mean_wait(servers, rate, SERVICE)
    assert mean_seconds(rate, use) == pytest.approx(expected, rel=0.06)


def test_erlang_c_is_that_of_the_tables() -> None:
    """One server: the load itself. Two at a load of one: a third."""
    assert closed_formula.erlang_c(1, 0.7) == pytest.approx(0.7)
    assert closed_formula.erlang_c(2, 1.0) == pytest.approx(1 / 3)
    assert closed_formula.mean_wait(1, 40, SERVICE) == pytest.approx(closed_formula.processor_sharing(40, SERVICE) - SERVICE)


def test_lanes_share_a_processor() -> None:
    """M/M/1 by one lane; two that both have something to do are each half as quick, and one that is alone is not."""
    lanes: list[Interpreter] = []

    def use(clock: Clock, work: float, then: Callable[[], None]) -> None:
        if not lanes:
            lanes.append(Interpreter(clock, 2))
        lanes[0].use(0, work, then)

    assert mean_seconds(35, use) == pytest.approx(closed_formula.processor_sharing(35, SERVICE), rel=0.05)
    clock, done = Clock(), list[tuple[str, float]]()
    both = Interpreter(clock, 2)
    both.use(0, 1.0, lambda: done.append(("short", clock.now)))
    both.use(1, 2.0, lambda: done.append(("long", clock.now)))
    both.use(0, 0.5, lambda: done.append(("behind", clock.now)))
    clock.run(10)
    assert [name for name, _ in done] == ["short", "behind", "long"]
    assert [at for _, at in done] == pytest.approx([2.0, 3.0, 3.5])
    assert both.busy == pytest.approx(3.5)


def test_work_that_was_given_up_before_its_turn_is_never_done() -> None:
    clock, done = Clock(), list[str]()
    lane = Interpreter(clock, 1)
    begun = lane.use(0, 1.0, lambda: done.append("first"))
    behind = lane.use(0, 1.0, lambda: done.append("second"))
    behind.give_up(lambda: done.append("instead"))
    begun.give_up(lambda: done.append("never"))
    clock.run(10)
    assert (done, lane.busy) == (["instead", "first"], 1.0)


def simulated(inputs: Inputs, goes: str = NOTHING, calls: float = 250.0, seed: int = 3) -> Outcome:
    return Run(Plan(calls, 3, 12.0, goes, seed), inputs.modes["production"], inputs)()


@pytest.mark.parametrize("goes", [NOTHING, ZONE, REDIS, OPENSEARCH])
@pytest.mark.parametrize("calls", [250.0, 1500.0])
def test_every_call_that_begins_ends_once(goes: str, calls: float, inputs: Inputs) -> None:
    """Answered, refused or lost, also where there is too much to do."""
    told = simulated(inputs, goes, calls)
    assert told.begun == told.answered + told.refused + told.lost
    assert told.begun > 1000
    assert (told.lost > 0) == (goes == ZONE)
    assert len(told.milliseconds) == told.answered or goes != NOTHING


def test_the_same_seed_is_the_same_run(inputs: Inputs) -> None:
    assert simulated(inputs) == simulated(inputs)
    assert simulated(inputs).milliseconds != simulated(inputs, seed=4).milliseconds


def test_what_goes_changes_what_is_answered(inputs: Inputs) -> None:
    """Without OpenSearch the fallback answers; without Redis all is live, slower and degraded."""
    whole, search, redis = (simulated(inputs, goes) for goes in (NOTHING, OPENSEARCH, REDIS))
    assert whole.degraded == 0 < search.degraded < redis.degraded
    assert redis.ms(0.5) > 3 * whole.ms(0.5)
    assert redis.busy > whole.busy > search.busy


def test_more_than_a_fleet_bears_is_refused(inputs: Inputs) -> None:
    """And what is answered is still answered in a turn's time."""
    over = simulated(inputs, calls=1500.0)
    assert over.refused_share > 0.1
    assert over.ms(1) < 3000


def test_a_day_has_as_many_messages_as_it_says(inputs: Inputs) -> None:
    demand = Demand(1_000_000, inputs.day)
    assert sum(HOUR * demand.at(hour) for hour in range(24)) == pytest.approx(1_000_000)
    assert demand.peak == demand.at(21)
    assert arrivals(0, 100, random.Random(1)) == []
    assert len(arrivals(50, 1000, random.Random(1))) == pytest.approx(50_000, rel=0.02)


def test_the_fleet_has_room_for_a_zone_less_and_stands_in_all_of_them(inputs: Inputs) -> None:
    bears = Capacity(150.0, 80.0, 300.0)
    for messages in VOLUMES:
        fleet = fleet_for(messages, bears, inputs)
        numbers = (fleet.busiest, fleet.zone, fleet.redis, fleet.opensearch, fleet.sale)
        assert all(number >= 3 and number % 3 == 0 for number in numbers)
        assert fleet.kept * 2 / 3 * bears.whole >= fleet.peak_calls
    assert math.isclose(fleet.peak_calls, 3 * Demand(VOLUMES[-1], inputs.day).peak)


def test_the_kept_report_is_of_these_inputs(inputs: Inputs) -> None:
    """As far as that can be told without simulating all of it: its sections and the sources of what it was fed with."""
    section = REPORT.read_text("utf-8").partition("<!-- fleet -->\n")[2].partition("<!-- end of fleet -->")[0]
    made = report(inputs, [], Capacity(1.0, 1.0, 1.0), [])
    assert [line for line in made.splitlines() if line.startswith(("#", "!"))] == [
        line for line in section.splitlines() if line.startswith(("#", "!"))
    ]
    kept = (FIGURES / "fleet.txt").read_text("utf-8")
    tables = details(inputs, [], dict.fromkeys(VOLUMES, ()))
    assert kept.endswith(tables[tables.index("Where the inputs come from") :])
    for volume in VOLUMES:
        assert f"| {volume:,} | a zone goes |" in kept
    assert replace(inputs, sources={}).sources != inputs.sources
