"""When answers leave is measured where they leave: one sample an answer on every transport, and a late one is counted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.request import urlopen

import pytest

from server.call import Call
from server.telemetry.metrics import LATE_SECONDS, Metrics
from session.resilience.deadline import Deadline
from tests.support.clients import Connections
from tests.support.process import serving
from tests.support.strands import StrandsDriver

CALLS = 3


@pytest.fixture
def connections(tmp_path: Path) -> Iterator[Connections]:
    strands = StrandsDriver(tmp_path)
    yield Connections(tmp_path, tmp_path, strands)
    strands.close()


@pytest.mark.parametrize(
    ("kind", "transport"),
    [("sse-2025", "sse"), ("sse-2026", "sse"), ("http-2026", "streamable_http"), ("strands-sse", "sse")],
)
async def test_each_answer_is_measured_once_when_it_leaves(kind: str, transport: str, connections: Connections) -> None:
    """On each transport as often as there were calls; other messages of the connection are none."""
    async with serving() as server:
        client = await asyncio.to_thread(connections.open, kind, server.url)
        for _ in range(CALLS):
            assert not (await client.call("search_manga_catalog", {"query": "one piece"})).is_error
        await asyncio.to_thread(connections.close)
        with urlopen(f"{server.url}/metrics") as told:
            text = told.read().decode()
    counted = re.findall(r'^manga_answer_seconds_count\{transport="(\w+)"\} (\S+)$', text, re.MULTILINE)
    assert counted == [(transport, f"{float(CALLS)}")]


def test_an_answer_counts_as_late_beyond_its_grace() -> None:
    """The ladder and the record may take their share after the deadline; what is later is an operator's business."""
    metrics = Metrics()

    def late() -> float:
        return metrics.registry.get_sample_value("manga_answers_late_total", {"tool": "t"}) or 0.0

    for seconds in (1.0, -LATE_SECONDS / 2, -10 * LATE_SECONDS):
        before = late()
        call = SimpleNamespace(name="t", transport="sse", deadline=Deadline.after(seconds), elapsed_ms=lambda: 1.0)
        metrics.record_answer_sent(cast(Call, cast(Any, call)))
        assert late() - before == (seconds < -LATE_SECONDS)
