"""The comparison of order look-ups by the clock still runs, and would see a difference. Nothing here is timed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.load.order_answers import ABSURD, FOREIGN, KINDS, MISSING, OWN, numbers
from tests.load.order_timing import bars, measure, table
from tests.load.told_apart import compared

RNG = np.random.default_rng(1)


async def test_every_row_is_measured_and_every_answer_is_as_promised() -> None:
    """`measure` refuses a run in which an order is answered otherwise than it should be."""
    found = await measure(5, {"embedded": {}})
    assert set(found) == {("embedded", clock) for clock in ("client", "latencyMs", "in the server")}
    assert all(each[kind].shape == (5,) and (each[kind] > 0).all() for each in found.values() for kind in KINDS)
    assert "foreign from missing" in table(found)


def test_numbers_of_all_kinds_are_such_that_only_the_store_can_tell() -> None:
    """Of the same pattern, and each in one kind alone."""
    asked = numbers()
    every = [number for kind in KINDS for number in asked[kind]]
    assert len(set(every)) == len(every)
    assert all(len(number) == 12 and number.startswith("MNG-") for number in every)
    assert len(asked[FOREIGN]) == len(asked[MISSING]) > 5
    assert asked[OWN]
    assert asked[ABSURD]


@pytest.mark.parametrize("shift", [0.0, 0.2, 3.0])
def test_a_difference_is_seen_by_its_size(shift: float) -> None:
    """Against what theory says of two normal distributions: AUC = Phi(d / sqrt 2), D = 2 Phi(d / 2) - 1."""
    auc, advantage = {0.0: (0.5, 0.0), 0.2: (0.5562, 0.0797), 3.0: (0.9831, 0.8664)}[shift]
    found = compared(RNG.normal(10 + shift, 1, 20_000), RNG.normal(10, 1, 20_000))
    assert found.auc == pytest.approx(auc, abs=0.015)
    assert found.advantage == pytest.approx(advantage, abs=0.02)
    assert (found.p < 0.001, found.advantage_p < 0.001) == (shift > 0, shift > 0)
    assert found.met == (shift == 0.0)
    assert found.difference_ci[0] <= shift * 1e6 <= found.difference_ci[1]


def test_ties_are_no_difference() -> None:
    found = compared(np.array([1.0, 2.0, 2.0, 3.0] * 10), np.array([2.0, 1.0, 3.0, 2.0] * 10))
    assert (found.auc, found.p, found.advantage, found.advantage_p) == (0.5, 1.0, 0.0, 1.0)


def test_a_missed_bar_is_named_with_its_row() -> None:
    equal, slow = np.linspace(1, 2, 200), np.linspace(1.2, 2.2, 200)
    told = list(bars({("DynamoDB", "client"): {OWN: equal, FOREIGN: slow, MISSING: equal, ABSURD: equal}}))
    assert told[0].startswith("MISSED  foreign from missing")
    assert told[0].endswith("(DynamoDB, client)")
    assert told[1].startswith("met     absurd")
