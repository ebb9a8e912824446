"""The bench of cluster clients still runs: each of them does every operation of session memory, and does it right. Untimed."""

from __future__ import annotations

import asyncio

import pytest

from tests.load.cluster_bench import CALLERS, Samples, measure, table
from tests.stack import redis_servers
from tests.stack.require import require

TRIPS = 2 * max(CALLERS)


@pytest.fixture(scope="module")
def samples() -> Samples:
    require("Redis cluster", redis_servers.missing())
    return asyncio.run(measure(rounds=1, trips=TRIPS))


def test_every_client_does_every_operation(samples: Samples) -> None:
    """`measure` refuses an error reply."""
    assert {client for _, _, client in samples} >= {"ours", "redis-py"}
    assert {operation for operation, _, _ in samples} == {"begin.lua", "begin", "end"}
    assert all(len(sample.latencies) == TRIPS for (sample,) in samples.values())


def test_the_table_has_a_row_for_each_and_ours_is_the_measure(samples: Samples) -> None:
    rows = table(samples).splitlines()[1:]
    assert len(rows) == len(samples)
    assert all(row.split()[-2:] == ["1.00", "1.00"] for row in rows if " ours " in row)
