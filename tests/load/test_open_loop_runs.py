"""The load test still runs, and is an open loop: a server that stalls slows nothing down and hides nothing. Untimed."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import pytest

from tests.load.open_loop import plots
from tests.load.open_loop.__main__ import SHORT, Results, measure, sections
from tests.load.open_loop.made_up import GAP, TURNS, calls, every, kept, later, measured
from tests.load.open_loop.measured import CLIENT_LATE_MS, ClientTooLate
from tests.load.open_loop.mix import CUSTOMERS, Mix
from tests.load.open_loop.run import verdict
from tests.load.open_loop.schedule import LONGEST_THINK_SECONDS, arrivals, thinking
from tests.load.open_loop.soak import slope
from tests.load.open_loop.stalling import stalling
from tests.load.open_loop.steps import Steps

# -- an open loop


async def test_a_stalled_server_is_asked_all_the_same() -> None:
    """It answers nobody before the last turn has come: a client that waited for any answer would wait for ever."""
    async with stalling(until=TURNS) as stall:
        rows = await kept(stall.port, every(GAP, TURNS))
    assert len(rows) == 3 * TURNS
    assert {row.outcome for row in rows} == {"live"}


async def test_the_time_of_a_stall_counts_for_every_turn_that_was_due_in_it() -> None:
    """Each first call waits at least until the last one was due, and says so."""
    async with stalling(until=TURNS) as stall:
        rows = await kept(stall.port, every(GAP, TURNS))
    last = max(row.due for row in rows if row.step == 0)
    for row in rows:
        if row.step == 0:
            assert row.latency >= last - row.due - 1e-4


async def test_a_client_that_is_late_itself_counts_that_too_and_its_run_is_refused() -> None:
    """Time that the client lost is in the latency, and a run with too much of it says nothing about the server."""
    async with stalling(until=1) as stall:
        asyncio.get_running_loop().call_later(0.15, time.sleep, 0.2)  # nothing of this process moves in that time
        rows = await kept(stall.port, every(GAP, TURNS))
    late = [row for row in rows if row.late > 0.05]
    assert late
    assert all(row.latency >= row.late for row in late)
    with pytest.raises(ClientTooLate):
        measured(rows).refuse_when_client_was_late(CLIENT_LATE_MS)


def test_a_schedule_brings_the_calls_a_second_that_it_says_and_is_the_same_again() -> None:
    """Within what chance allows a Poisson process (four standard deviations)."""
    found = arrivals(90, 200, random.Random(7))
    assert 6000 - 4 * 6000**0.5 < len(found) < 6000 + 4 * 6000**0.5
    assert found == sorted(found) == arrivals(90, 200, random.Random(7))
    assert all(0 <= think <= LONGEST_THINK_SECONDS for _ in range(200) for think in thinking(random.Random(_)))


def test_a_turn_is_three_calls_of_another_customer_and_begins_with_a_search() -> None:
    """Turn ids are new in every run; only buyers ask for an order; most searches, not all, were asked before."""
    mix = Mix(1)
    turns = mix.store("a", 300, 40)
    assert {len(turn.asks) for turn in turns} == {3}
    assert {turn.asks[0].tool for turn in turns} == {"search_manga_catalog"}
    assert len({turn.name for turn in turns} | {turn.name for turn in mix.store("b", 300, 1)}) > len(turns)
    assert len({turn.user for turn in turns}) > min(CUSTOMERS, len(turns)) / 2
    orders = [turn for turn in turns if any(ask.tool == "lookup_order" for ask in turn.asks)]
    assert orders
    assert all(turn.user.startswith("demo-user-") for turn in orders)
    queries = [turn.asks[0].arguments for turn in turns]
    once = sum(queries.count(query) == 1 for query in queries) / len(queries)
    assert 0.2 < once < 0.5


def test_uncached_turns_never_ask_the_same_twice() -> None:
    """Neither in one run nor in the next."""
    mix = Mix(1)
    asked = [ask.arguments for run in "ab" for turn in mix.uncached(run, 300, 20) for ask in turn.asks[:2]]
    assert len(set(asked)) == len(asked)


# -- what is made of it


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ('"isError":false,"_meta":{"x":{"source":"cache","degraded":[]', ("cache", False, None)),
        (
            r'"text":"{\"source\":\"live\"}","isError":false,"_meta":{"source":"stale","degraded":["stock"]',
            ("stale", True, None),
        ),
        (
            '"structuredContent":{"error":{"code":-32009,"name":"SERVER_BUSY","data":{"retry_after_ms":100,}}},"isError":true',
            ("SERVER_BUSY", False, 100),
        ),
        ('{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"x"}}', ("JSON-RPC error", False, None)),
    ],
)
def test_an_answer_is_known_by_its_source_or_by_the_name_of_its_failure(event: str, expected: object) -> None:
    """Words inside the text block are no verdict."""
    assert verdict(event.encode()) == expected


def test_the_knee_is_the_last_rate_before_something_goes_wrong() -> None:
    """Latency, refusals and calls that came to nothing each end it, and a rate that is fine beyond it does not count."""
    steps = Steps()
    for rate, rows in ((50.0, calls(10)), (100.0, calls(40)), (200.0, calls(150)), (400.0, calls(20))):
        steps.add(measured(rows, rate))
    assert steps.knee == 100
    for failure in ("SERVER_BUSY", "TIMEOUT"):
        assert steps.why_beyond(measured(calls(20) + later(calls(5, 30, failure))))
    assert steps.why_beyond(measured(calls(90))) is None, "three times as slow as the lowest rate, and nobody notices"


def test_an_answer_after_the_turns_budget_is_none() -> None:
    """It counts as a latency, and not as achieved."""
    run = measured(calls(10, 150) + later(calls(3500, 150)))
    assert run.achieved == pytest.approx(0.5)
    assert run.worst_ms == pytest.approx(3500)


def test_a_slope_is_that_of_the_line_through_the_points() -> None:
    """Least squares; noise that is the same on both sides does not tilt it."""
    assert slope([(0, 1), (1, 3), (2, 5)]) == pytest.approx(2)
    assert slope([(0, 5), (1, 6), (2, 6), (3, 5)]) == pytest.approx(0)


# -- the command


@pytest.fixture(scope="module")
def short() -> Results:
    return asyncio.run(measure(SHORT))


def test_every_call_of_a_short_run_gets_its_result(short: Results) -> None:
    """From the sources that there are, at a rate that is nothing."""
    assert short.steps is not None
    assert [step.rate for step in short.steps.measured] == list(SHORT.rates)
    for step in short.steps.measured:
        assert step.rows
        assert step.failures == {}
        assert step.refusals == []


def test_the_report_has_a_row_for_every_rate_and_the_soaks_memory(short: Results) -> None:
    """What a person reads."""
    found = sections(short, SHORT)
    rows = [line for line in found["steps"].splitlines() if line.startswith("| ")]
    assert [row.split()[1] for row in rows[2:]] == [f"{rate:g}" for rate in SHORT.rates]
    assert "RSS of the server" in found["soak"]


def test_plots_are_the_same_for_the_same_figures(short: Results, tmp_path: Path) -> None:
    """Byte by byte, so that a commit shows what has changed; and they name no colour of the page behind them."""
    assert short.steps is not None
    assert short.soak is not None
    for name in ("one.svg", "two.svg"):
        plots.plot_steps(short.steps, tmp_path / f"steps-{name}")
        plots.plot_soak(short.soak, tmp_path / f"soak-{name}")
    for kind in ("steps", "soak"):
        one, two = ((tmp_path / f"{kind}-{name}").read_text("utf-8") for name in ("one.svg", "two.svg"))
        assert one == two
        assert "#ffffff" not in one
