"""The measurement of the relay still runs, and counts right: no call is lost, none runs twice. Untimed."""

from __future__ import annotations

import pytest

from tests.load import relay_faults
from tests.load.relay import Plan, Results, measure, table
from tests.load.relay_faults import Verdict, rolling_restart
from tests.load.restless_clients import ANSWERED, CUT, REFUSED, SILENT, Told

pytestmark = pytest.mark.timeout(240)


async def test_no_call_is_lost_and_none_runs_twice() -> None:
    plan = Plan(clients=10, calls=100, rounds=1, paced=60, rate=20.0, kinds=("mcp-2",))
    results = await measure(plan)
    assert results.kinds == {"mcp-2": (100, 0, 0)}
    assert (results.lost, results.doubled) == (0, 0), results.first_wrong
    assert all(len(each) == 1 for each in (*results.p50.values(), *results.cpu.values()))
    assert "10 SSE clients of each kind" in table(plan, results)


def test_what_is_lost_or_dear_misses_its_bar() -> None:
    p50, cpu = {"own": [3.0, 3.0, 9.0], "any": [5.0, 5.0, 5.0]}, {"own": [2.0], "any": [2.4]}
    results = Results(p50=p50, cpu=cpu, kinds={"mcp-1": (100, 1, 0), "strands": (100, 0, 2)})
    assert results.missed() == [
        "calls lost, or answered wrongly",
        "calls run or answered twice",
        "added to the median in ms",
    ]
    assert "MISSED  added to the median in ms: 2 (bar <= 1.5)" in table(Plan(), results)


def test_a_rolling_restart_loses_no_call() -> None:
    verdict = rolling_restart(relay_faults.Plan(clients=8, think=0.2, seconds=1.0))
    assert verdict.told.counts[ANSWERED] > 8
    assert verdict.missed() == [], verdict.line()


def test_a_kill_may_cost_what_was_under_way_and_nothing_else() -> None:
    told = Told()
    for what in (ANSWERED, REFUSED, CUT, CUT):
        told.say(what)
    assert Verdict("killed", told, allowed=2, well=0.5).missed() == []
    assert Verdict("killed", told, allowed=1, well=3.5).missed() == [
        "2 calls lost of 1 that may be",
        "3.5 s until all was well (bar 3)",
    ]
    told.say(SILENT)
    assert Verdict("killed", told, allowed=3).missed() == ["calls that were never answered, or wrongly"]
