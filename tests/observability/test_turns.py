"""One turn seen from end to end: from the example agent's span to the request that arrived at OpenSearch, and in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from tests.observability.turns import AGENT, SEARCH, SERVER, Span, Told, shown, turns, way_up, written
from tests.stack import prometheus
from tests.stack.require import require
from tests.stack.seeding import Destination
from tests.stack.zipkin import Viewer
from tests.support.browser import chromium
from tests.support.browser.looking import picture

MOST_BYTES = 150_000

# The first start of a Java on a busy machine takes its time.
pytestmark = pytest.mark.timeout(300)


async def test_a_turn_is_one_trace_from_the_agent_to_the_index(
    trace_viewer: Viewer, target: Destination, tmp_path: Path
) -> None:
    require("browser", chromium.problem())
    require("Prometheus", prometheus.missing())
    target.seed()
    async with turns(trace_viewer, target) as told:
        _each_turn_is_a_trace_of_its_own(told)
        _the_index_was_asked_below_the_agents_call(told)
        assert told.examples & {spans[0]["traceId"] for spans in told.traces}, "no point of a histogram leads to a turn"
        async with chromium.launched() as browser, shown(browser, told) as page:
            text = await page.inner_text("body")
            written(await picture(page), tmp_path / "trace.png")
    assert AGENT.upper() in text.upper()
    assert SERVER.upper() in text.upper()
    assert (tmp_path / "trace.png").stat().st_size < MOST_BYTES
    with Image.open(tmp_path / "trace.png") as drawn:
        assert len(drawn.convert("RGB").getcolors(4096) or ()) > 20


def _each_turn_is_a_trace_of_its_own(told: Told) -> None:
    """Four questions over one connection."""
    assert len(told.traces) == 4
    for spans in told.traces:
        (root,) = (span for span in spans if "parentId" not in span)
        assert (root["name"], root["localEndpoint"]["serviceName"]) == ("turn", AGENT)
        assert {span["traceId"] for span in spans} == {root["traceId"]}
    assert len({spans[0]["traceId"] for spans in told.traces}) == len(told.traces)


def _the_index_was_asked_below_the_agents_call(told: Told) -> None:
    """Turn, the model's tool, what was sent, the server's call, a stage of it, and the attempt whose id OpenSearch was told."""
    ways = [list(way_up(span, told.first)) for span in told.asked if (span["traceId"], span["id"]) in told.heard]
    assert any(_is_whole(way) for way in ways), [[span["name"] for span in way] for way in ways]


def _is_whole(way: list[Span]) -> bool:
    attempt, *above = way
    names = [(span["localEndpoint"]["serviceName"], span["name"]) for span in above]
    call, sent = (SERVER, f"tools/call {SEARCH}"), (AGENT, f"mcp send tools/call {SEARCH}")
    if (attempt["localEndpoint"]["serviceName"], attempt.get("kind")) != (SERVER, "CLIENT") or call not in names:
        return False
    stages, agents = names[: names.index(call)], names[names.index(call) + 1 :]
    tool = (AGENT, f"execute_tool {SEARCH}")
    return (
        bool(stages)
        and {of for of, _ in stages} == {SERVER}
        and agents[:2] == [sent, tool]
        and agents[-1] == (AGENT, "turn")
    )
