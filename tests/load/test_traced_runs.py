"""The measurement of traces runs: all three servers are asked, and the spans of the third have come."""

from __future__ import annotations

import pytest

from tests.load.traced import ALL, OFF, SAMPLERS, measure, report


@pytest.mark.alone
async def test_it_measures_three_servers_in_turns() -> None:
    found = await measure("live", 2, 3, tuple(SAMPLERS))
    assert {name: len(each) for name, each in found.items()} == dict.fromkeys(SAMPLERS, 2)
    assert min(milliseconds for each in found.values() for milliseconds in each) > 0


def test_what_it_reports_is_the_ratio_of_each_round() -> None:
    lines = report("live", {OFF: [1.0, 2.0, 4.0], ALL: [2.0, 4.0, 8.0]}).splitlines()
    assert lines[-1].split()[-5:-3] == ["x", "2.000"]
