"""Strands only: how it passes results to its agent, and which metadata it sends."""

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


async def test_failure_reaches_the_agent_as_an_error_with_its_envelope(strands: OfStrands) -> None:
    """`status` error, the envelope as text for the model and as structuredContent for the agent's own code."""
    result = await strands.raw_call("lookup_order", {"order_id": "MNG-ZZZZZZZZ"}, userId="demo-user-1")
    assert (result["status"], result["isError"]) == ("error", True)
    assert result["structuredContent"]["error"]["name"] == "NOT_FOUND"
    assert "NOT_FOUND" in result["content"][0]["text"]
    assert result["metadata"][CALL_META]["budget"]["totalMs"] == 3000


async def test_success_reaches_the_agent_as_text_and_structured_content(strands: OfStrands) -> None:
    """Both are complete."""
    result = await strands.raw_call("get_manga_details", {"title_id": ONE_PIECE})
    assert result["status"] == "success"
    assert result["structuredContent"]["title_id"] == ONE_PIECE
    assert ONE_PIECE in result["content"][0]["text"]


async def test_tool_call_of_a_model_gets_the_same_result(strands: OfStrands) -> None:
    """The call goes through the tool object that an agent holds."""
    result = await strands.models_call("search_manga_catalog", {"query": "one piece"})
    assert result["status"] == "success"
    assert result["structuredContent"]["results"][0]["title_id"] == ONE_PIECE


async def test_trace_of_the_agent_is_its_turn_and_its_baggage_names_the_session(strands: OfStrands) -> None:
    """The client injects OpenTelemetry's context into `_meta`, without code in the agent."""
    number, session = uuid.uuid4().int, uuid.uuid4().hex
    traced = {"trace": number, "baggage": {"session.id": session}}
    found = await strands.raw_call("search_manga_catalog", {"query": "fencing", "max_results": 2}, traced=traced)
    assert found["metadata"][CALL_META]["budget"]["turnId"] == f"{number:032x}"
    stock = await strands.call("check_inventory", sessionId=session)
    ids = [card["title_id"] for card in found["structuredContent"]["results"]]
    assert [item["title_id"] for item in stock.value["items"]] == ids
