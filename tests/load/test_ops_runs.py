"""The measurements of the operators' page still run, and count right. Untimed: a figure of theirs is for whoever runs them."""

from __future__ import annotations

import pytest

from tests.load import ops, ops_in_process
from tests.load.ops import AGAIN, CLOSED, EIGHT, OFF, ONE, Results

pytestmark = pytest.mark.timeout(240)


async def test_each_variant_is_measured_and_pages_are_told() -> None:
    results = await ops.measure(seconds=0.5, rounds=1)
    assert results.samples[0].keys() == ops.PAGES.keys()
    assert all(ms > 0 for ms in results.samples[0].values())
    assert len(results.told) == 9
    assert min(results.told) > 0
    assert "a page is told" in ops.table(results)


def test_what_costs_too_much_misses_its_bar() -> None:
    results = Results(1.0, [{OFF: 1.0, AGAIN: 1.0, CLOSED: 1.0, ONE: 1.02, EIGHT: 1.2}])
    assert results.missed() == [EIGHT]


async def test_blocks_of_calls_are_compared_in_pairs() -> None:
    measured = await ops_in_process.measure(pairs=2)
    assert len(measured) == 2
    assert all(alone > 0 and during > 0 for alone, during in measured)
    assert "2 pairs of blocks" in ops_in_process.table(measured)
