"""What the suite asks of Streamable HTTP alone, over the other ways in as well, by the official client of each era."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from tests.conformance.fixture.app import fixture_app

WAYS = {"sse": ("legacy", "auto"), "mcp": ("legacy", "auto")}
URIS = ["test://static-text", "test://static-binary", "test://watched-resource", "test://template/1/data"]

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


async def user(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Nami"})


async def model(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    return types.CreateMessageResult(role="assistant", content=types.TextContent(text="Paris"), model="m")


@asynccontextmanager
async def connected(url: str, way: str, era: str) -> AsyncIterator[Client]:
    address = f"{url}/{way}"
    transport: Any = sse_client(address) if way == "sse" else streamable_http_client(address)
    async with Client(transport, mode=era, cache=None, elicitation_callback=user, sampling_callback=model) as client:
        yield client


async def read_everything(client: Client) -> None:
    read = {uri: (await client.read_resource(uri)).contents[0] for uri in URIS}
    assert {uri: each.uri for uri, each in read.items()} == dict(zip(URIS, URIS, strict=True))
    prompts = (await client.list_prompts()).prompts
    assert "test_simple_prompt" in [each.name for each in prompts]
    made = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
    assert made.messages[0].content.text == "Prompt with arguments: arg1='a', arg2='b'"  # type: ignore[union-attr]
    ref = types.PromptReference(name="test_prompt_with_arguments")
    proposed = await client.complete(ref, {"name": "arg1", "value": "par"})
    assert proposed.completion.values == ["paris", "park", "party"]


async def be_asked(client: Client) -> None:
    told: list[float] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        told.append(done)

    await client.call_tool("test_tool_with_progress", progress_callback=hear)
    assert told == [0, 50, 100]
    asked = await client.call_tool("test_input_required_result_elicitation")
    assert "Nami" in asked.structured_content["said"]
    sampled = await client.call_tool("test_sampling", {"prompt": "What is the capital of France?"})
    assert "Paris" in sampled.structured_content["said"]
    prompted = await client.get_prompt("test_input_required_result_prompt")
    assert "Nami" in prompted.messages[0].content.text  # type: ignore[union-attr]


async def test_every_way_in_reads_and_is_asked() -> None:
    async with fixture_app() as url:
        for way, eras in WAYS.items():
            for era in eras:
                async with connected(url, way, era) as client:
                    await read_everything(client)
                    await be_asked(client)
