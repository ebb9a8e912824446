"""The measurement of flips still runs, and counts right: every listener of both replicas is told of its own changes, once. Untimed."""

from __future__ import annotations

import pytest

from tests.load.flips import CROWD, Results, measure, table

FLIPS, LISTENERS = 3, 20

pytestmark = pytest.mark.timeout(240)


async def test_every_listener_hears_of_each_change_of_its_own_once() -> None:
    results = await measure(FLIPS, LISTENERS, every_kind=False)
    assert (results.wrong_lists, results.wrong_counts) == (0, 0)
    assert len(results.told[CROWD]) == FLIPS * LISTENERS
    assert {kind: len(seconds) for kind, seconds in results.listed.items()} == dict.fromkeys(
        ("sse-2025", "http-2025", "sse-2026", "http-2026"), 2 * FLIPS
    )
    assert results.calls
    assert f"{LISTENERS} listeners" in table(results)


def test_a_slow_list_and_a_wrong_count_miss_their_bars() -> None:
    results = Results(flips=1, listeners=1, told={CROWD: [0.2]}, listed={"sse-2025": [1.2, 0.3]}, wrong_counts=1)
    assert results.missed() == [
        "slowest list in s",
        "listeners that were not told once of each change of theirs, or of another's",
    ]
    assert "MISSED  slowest list in s: 1.2 (bar <= 1)" in table(results)
