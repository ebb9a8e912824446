"""What only Strands does: how it hands results to its agent, and what it sends along by itself."""

from __future__ import annotations

import uuid

import pytest

from tests.support.answers import CALL_META
from tests.support.clients import TRANSPORTS, Connections, params
from tests.support.serving import Serving
from tests.support.strands import OfStrands

STRANDS = [name for name, transport in TRANSPORTS.items() if transport.strands]
ONE_PIECE = "manga-001001"


@pytest.fixture(params=params(STRANDS))
def strands(request: pytest.FixtureRequest, connections: Connections, server: Serving) -> OfStrands:
    client = connections.shared(request.param, server.url)
    assert isinstance(client, OfStrands)
    return client


async def test_a_failure_reaches_the_agent_as_an_error_with_all_that_it_can_act_on(strands: OfStrands) -> None:
    """`status` error, the envelope as text for the model and as structuredContent for the agent's own code."""
    result = await strands.raw_call("lookup_order", {"order_id": "MNG-ZZZZZZZZ"}, userId="demo-user-1")
    assert (result["status"], result["isError"]) == ("error", True)
    assert result["structuredContent"]["error"]["name"] == "NOT_FOUND"
    assert "NOT_FOUND" in result["content"][0]["text"]
    assert result["metadata"][CALL_META]["budget"]["totalMs"] == 3000


async def test_a_success_reaches_the_agent_as_text_and_as_structure(strands: OfStrands) -> None:
    """And nothing of it is lost on the way."""
    result = await strands.raw_call("get_manga_details", {"title_id": ONE_PIECE})
    assert result["status"] == "success"
    assert result["structuredContent"]["title_id"] == ONE_PIECE
    assert ONE_PIECE in result["content"][0]["text"]


async def test_a_call_that_a_model_makes_goes_the_same_way(strands: OfStrands) -> None:
    """Through the tool object that an agent holds."""
    result = await strands.models_call("search_manga_catalog", {"query": "one piece"})
    assert result["status"] == "success"
    assert result["structuredContent"]["results"][0]["title_id"] == ONE_PIECE


async def test_the_agents_trace_is_its_turn_and_its_baggage_names_the_session(strands: OfStrands) -> None:
    """What OpenTelemetry carries is injected into `_meta` by the client, with no line of code in the agent."""
    number, session = uuid.uuid4().int, uuid.uuid4().hex
    traced = {"trace": number, "baggage": {"session.id": session}}
    found = await strands.raw_call("search_manga_catalog", {"query": "fencing", "max_results": 2}, traced=traced)
    assert found["metadata"][CALL_META]["budget"]["turnId"] == f"{number:032x}"
    stock = await strands.call("check_inventory", sessionId=session)
    ids = [card["title_id"] for card in found["structuredContent"]["results"]]
    assert [item["title_id"] for item in stock.value["items"]] == ids
