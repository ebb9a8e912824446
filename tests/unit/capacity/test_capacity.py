"""The capacity calculation of tasks, units and dollars is checked by hand-computed numbers, and so is its input."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from infra.capacity import search_units, tasks
from infra.capacity.__main__ import DOCUMENT, FOLDER
from infra.capacity.alternatives import ALTERNATIVES, nothing_cached
from infra.capacity.document import OTHER_REGION, REGION, VOLUMES, document, months
from infra.capacity.inputs import KINDS, LIVE, Consumed, Inputs, Price, Prices, read_inputs, read_prices
from infra.capacity.needs import Month, Need, dollars
from infra.capacity.plots import PLOT, plot
from infra.capacity.traffic import Traffic
from tests.conversations.cost import PRICES as MODELS
from tests.load.fleet.inputs import read_inputs as read_fleet
from tests.load.open_loop.report import REPORT


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    return read_inputs()


def test_committed_document_is_what_the_command_prints(inputs: Inputs) -> None:
    assert (FOLDER / DOCUMENT).read_text("utf-8") == document(inputs), "make capacity writes it anew"


def test_committed_plot_is_what_the_plot_function_draws(inputs: Inputs, tmp_path: Path) -> None:
    plot(inputs, read_prices(REGION), tmp_path)
    assert (FOLDER / PLOT).read_bytes() == (tmp_path / PLOT).read_bytes(), "make capacity draws it anew"


def test_day_and_turn_of_the_inputs_are_those_of_the_fleet_simulation(inputs: Inputs) -> None:
    fleet = read_fleet()
    assert inputs["day"]["hours"] == fleet.day["hours"]
    assert inputs["turn"]["live"] == fleet.turn.live
    calls = {kind: sum(step.get(kind, 0.0) for step in fleet.turn.steps) for kind in KINDS}
    assert inputs["turn"]["calls"] == pytest.approx(calls)
    assert inputs["fleet"]["zones"] == fleet.plan["zones"]


def test_calls_a_second_of_one_task_are_those_of_the_fleet_report(inputs: Inputs) -> None:
    told = re.search(r"One task bears (\d+) calls/s within the bars .*?, (\d+) without Redis", REPORT.read_text("utf-8"))
    assert told is not None
    assert [int(each) for each in told.groups()] == [
        inputs["fleet"]["calls_a_second"],
        inputs["fleet"]["calls_a_second_live"],
    ]


def test_a_million_messages_make_three_million_calls_with_the_peak_at_21_h(inputs: Inputs) -> None:
    traffic = Traffic(1_000_000, inputs)
    assert traffic.calls == pytest.approx(3_000_000)
    assert sum(traffic.calls_a_second(hour) * 3600 for hour in range(24)) == pytest.approx(3_000_000)
    assert traffic.peak == traffic.calls_a_second(21) == pytest.approx(73.57, abs=0.01)
    assert traffic.live("search") == pytest.approx(357_000)
    assert Traffic(1_000_000, inputs, cached=False).live("search") == pytest.approx(1_190_000)


def test_consumed_units_are_calls_times_the_measured_consumption_of_their_kind(inputs: Inputs) -> None:
    alone = Inputs(
        {**inputs.tables, "turn": {"calls": {"search": 2.0}, "live": {"search": 0.25}}},
        {(LIVE, "search"): Consumed(rru=4.0, wru=1.0), ("cached", "search"): Consumed(rru=0.0, commands=3.0)},
        inputs.stages,
    )
    assert Traffic(100, alone).consumed() == Consumed(rru=200.0, wru=50.0, commands=450.0)


@pytest.mark.parametrize(
    ("calls", "needed"),
    [(0.0, 3), (100.0, 3), (172.0, 3), (173.0, 6), (860.0, 15), (861.0, 18)],
    ids=lambda value: str(value),
)
def test_two_of_three_zones_carry_the_peak_with_the_computed_tasks(calls: float, needed: int, inputs: Inputs) -> None:
    """The measured rate is 86 calls a second per task."""
    prod = inputs.stages["prod"]
    found = tasks.tasks_at(calls, prod, 86.0)
    assert found == needed
    assert found * 2 / 3 * 86 >= calls
    assert found % prod.zones == 0


def test_stage_in_one_zone_grows_by_single_tasks(inputs: Inputs) -> None:
    assert [tasks.tasks_at(calls, inputs.stages["dev"], 43.0) for calls in (0.0, 43.0, 44.0, 90.0)] == [1, 1, 2, 3]


@pytest.mark.parametrize(
    ("requests", "needed"), [(0.0, 2.0), (480.0, 2.0), (490.0, 3.0), (2429.0, 10.0)], ids=lambda value: str(value)
)
def test_search_units_are_whole_numbers_with_a_minimum_of_two(requests: float, needed: float, inputs: Inputs) -> None:
    """A request takes 2.47 ms and a unit may be 60 % busy, which is 243 requests a second per unit."""
    assert search_units.search_ocus_at(requests, inputs.stages["prod"], Traffic(1, inputs)) == needed


def test_stage_with_a_minimum_of_half_a_search_unit_keeps_it_at_low_load(inputs: Inputs) -> None:
    small = replace(inputs.stages["dev"], search_ocus=0.5)
    assert [search_units.search_ocus_at(each, small, Traffic(1, inputs)) for each in (1.0, 121.0, 122.0)] == [0.5, 0.5, 1.0]


def test_dollars_are_quantities_times_prices() -> None:
    prices = Prices("here", "", 730, 30, {"a": Price({"here": 2.0}, "", ()), "b": Price({"here": 0.5}, "", ())})
    needs = [Need("x", "", 3.0, "a"), Need("y", "", 10.0, "b")]
    assert dollars(needs, prices) == 11.0
    assert dollars(needs, prices, lambda need: need.of == "y") == 5.0


@pytest.mark.parametrize("region", [REGION, OTHER_REGION])
@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_every_price_has_a_source_and_more_messages_cost_more(stage: str, region: str, inputs: Inputs) -> None:
    bills = [month() for month in months(inputs, stage, region)]
    prices = read_prices(region)
    assert all(price.source and price.dollars[region] > 0 for price in prices.of.values())
    totals = [dollars(bill, prices) for bill in bills]
    assert totals == sorted(totals)
    assert all(need.quantity >= 0 for bill in bills for need in bill)


def test_only_the_prices_of_the_nat_alternative_are_in_no_bill(inputs: Inputs) -> None:
    """A price that is in no bill is used by an alternative."""
    prices = read_prices(REGION)
    used = {need.price for need in Month(Traffic(1, inputs), inputs.stages["prod"], prices)()}
    assert prices.of.keys() - used == {"nat_hour", "nat_gb"}


def test_alternatives_state_how_many_dollars_they_change(inputs: Inputs) -> None:
    small, _, large = months(inputs, "prod")
    assert nothing_cached(large) > 0.5 * dollars(
        large(), large.prices, lambda need: need.of not in ("door", "agent's model")
    )
    told = {name: alternative(large) for name, alternative in ALTERNATIVES.items()}
    assert sum(dollar > 0 for dollar in told.values()) >= 7
    nat, embedder = (next(name for name in told if word in name) for word in ("NAT", "local"))
    assert ALTERNATIVES[nat](small) < 0 < told[nat], "endpoints stand, gateways count bytes"
    assert told[embedder] < 0


def test_agent_s_model_is_in_the_bill_by_the_tokens_of_its_table_and_its_prices(inputs: Inputs) -> None:
    text = (FOLDER / DOCUMENT).read_text("utf-8")
    assert all(f"\n| {row} |" in text for row in ("agent's model", "`AGENT_PROMPT_CACHE=off`", "`MANGA_TOOLS=core`"))
    table = (FOLDER / "docs/agent.md").read_text("utf-8").partition("<!-- cost -->")[2]
    rows = {cells[0]: cells for cells in (line.strip("| ").split(" | ") for line in table.splitlines() if "|" in line)}
    ways = {name: way for name, way in inputs["model"].items() if name in ("as_deployed", "cache_off", "five_tools")}
    paid = rows["way"].index("Haiku: input paid")
    for way in ways.values():
        assert [way["input"], way["output"]] == [int(rows[way["way"]][at].replace(",", "")) for at in (paid, 7)]
    haiku = tomllib.loads(MODELS.read_text("utf-8"))["Haiku"]
    prices = read_prices(REGION)
    assert [prices[f"agent_{what}_tokens_million"] for what in ("input", "output")] == [haiku["input"], haiku["output"]]
    month = Month(Traffic(1_000_000, inputs), inputs.stages["prod"], prices)
    a_thousand = dollars(list(month.agent_model()), prices) / month.days / 1000
    assert a_thousand == pytest.approx(float(rows[ways["as_deployed"]["way"]][paid + 1]), abs=0.005)
    for name in ("cache_off", "five_tools"):
        assert dollars(list(replace(month, stage=replace(month.stage, way=name)).agent_model()), prices) > 4 * a_thousand


def test_agents_of_their_own_are_tasks_of_the_bill(inputs: Inputs) -> None:
    prices = read_prices(REGION)
    prod, dev = (Month(Traffic(100_000_000, inputs), inputs.stages[name], prices) for name in ("prod", "dev"))
    assert sum(need.quantity for need in dev.agents()) == 0
    assert min(tasks.agents_by_hour(Traffic(1, inputs), prod.stage)) == prod.stage.agents == 3
    peak = prod.traffic.peak / prod.traffic.calls_a_message * inputs["agent"]["cpu_ms_a_turn"] / 1000
    assert max(tasks.agents_by_hour(prod.traffic, prod.stage)) * 2 / 3 * prod.stage.agents_busy_vcpu >= peak


def test_volumes_of_the_document_are_those_of_the_fleet_simulation() -> None:
    from tests.load.fleet.planning import VOLUMES as SIMULATED

    assert VOLUMES == SIMULATED
