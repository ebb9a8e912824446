"""The benchmark still runs: every variant starts, answers as it promises, and asks Redis at most twice a call. Untimed."""

from __future__ import annotations

import asyncio

import pytest

from tests.load import report
from tests.load.bench import Plan, measure
from tests.load.results import Bar, Growth, Results, Sample
from tests.load.variants import PRODUCT, VARIANTS

pytestmark = pytest.mark.alone
CLIENTS = (1, 4)


@pytest.fixture(scope="module")
def results() -> Results:
    plan = Plan(seconds=0.2, rounds=1, clients=CLIENTS, aged_sessions=1, aged_calls=60, many_sessions=64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRODUCT, "MANGA_EMBEDDER", "none")  # starts in half the time
        return asyncio.run(measure(plan))


def test_every_variant_answers_what_it_promises(results: Results) -> None:
    """`measure` refuses a run in which more than a few answers were not as promised."""
    for variant in VARIANTS:
        for clients in CLIENTS:
            (sample,) = results.samples[variant.key, clients]
            assert sample.latencies, f"{variant.key} with {clients} clients answered nothing"


def test_a_cached_call_makes_two_trips_to_redis(results: Results) -> None:
    """Counted at the door to Redis, and again by Valkey itself for calls over the wire."""
    for clients in CLIENTS:
        (sample,) = results.samples["D", clients]
        assert sample.trips == 2
    reads, commands = results.commands["C"]
    assert round(reads, 1) == 2, (
        "a third trip would make 3; what arrives in two pieces is two reads, once in a hundred calls"
    )
    assert 5 <= commands < 6, (
        "turn, limit, cached result and preferences before; the record after, and at a customer's first call what is remembered"
    )


def test_the_table_has_a_line_for_every_variant_and_number_of_clients(results: Results) -> None:
    """What a person reads."""
    text = report.table(results, 0.2, 1)
    for variant in VARIANTS:
        assert sum(line.split()[:2] in ([variant.key, "1"], [variant.key, "4"]) for line in text.splitlines()) == 2
    assert "sessions alive" in text


def test_a_missed_bar_is_told_and_a_missed_aim_is_not() -> None:
    """The exit status with `--bars` hangs on it."""
    fast, slow = Sample([0.001] * 100, 0.1, 0.5), Sample([0.004] * 100, 0.4, 2.0)
    results = Results(samples={("A", 1): [fast], ("A", 32): [fast], ("C", 1): [slow], ("C", 32): [slow]})
    assert {bar.name for bar in results.bars() if not bar.met} == {
        "C p50 - A p50 in ms, 1 client",
        "C/A server CPU a call, 32 clients",
        "C/A calls/s, 32 clients",
    }
    assert {bar.name for bar in results.missed()} == {"C p50 - A p50 in ms, 1 client", "C/A server CPU a call, 32 clients"}


def test_ratios_are_taken_within_a_round() -> None:
    """A machine that was slow for a whole round changes no ratio."""
    rounds = [1.0, 3.0, 10.0]
    own = [Sample([0.001] * 100, 0.2 * slow, 1.0) for slow in rounds]
    echo = [Sample([0.001] * 100, 0.1 * slow, 1.0) for slow in rounds]
    bars = {bar.name: bar for bar in Results(samples={("A", 32): echo, ("C", 32): own}).bars()}
    assert bars["C/A calls/s, 32 clients"].value == pytest.approx(0.5)


def test_growth_beyond_noise_misses_its_bar() -> None:
    """Twice the time in an old session is no noise."""
    missed: list[Bar] = Results(growth=Growth(young_ms=1.0, old_ms=2.0, few_ms=1.0, many_ms=1.0, many=10_000)).missed()
    assert [bar.name for bar in missed] == ["p50 of calls 901-1000 / calls 1-100 of a session"]
