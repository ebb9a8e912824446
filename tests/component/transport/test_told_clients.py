"""A running tool sends its client progress and log messages."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from server.transport.request import MOST_NOTIFICATIONS
from tests.conformance.fixture.making import said, tool
from tests.support.inmemory import ERAS, LEGACY_WORDS, connected
from tests.support.pipeline import Kit
from tests.support.raw import INITIALIZE, INITIALIZED, call, message
from tools.contract import Json, ToolContext

pytestmark = [pytest.mark.virtual_time, pytest.mark.filterwarnings(LEGACY_WORDS)]


@pytest.mark.parametrize("era", ERAS)
async def test_progress_is_sent_on_request_and_limited_in_number(era: str, kit: Kit) -> None:
    async def advance(context: ToolContext, arguments: Json) -> Json:
        for done in range(MOST_NOTIFICATIONS + 10):
            await context.client.progress(done, 100, "\u200bon the way")
        return said("done")

    told: list[tuple[float, float | None, str | None]] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    kit.registry.register(tool("advances", "Tells how far it is.", advance))
    async with connected(kit, era) as client:
        await client.call_tool("advances")
        assert told == []
        await client.call_tool("advances", progress_callback=hear)
    assert len(told) == MOST_NOTIFICATIONS
    assert told[7] == (7.0, 100.0, "on the way")


async def test_a_cancelled_call_gets_no_message_while_another_call_goes_on_with_its_work(kit: Kit) -> None:
    """The flight may go on for another caller that asked the same."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def advance(context: ToolContext, arguments: Json) -> Json:
        begun.set()
        await go_on.wait()
        await context.client.progress(1)
        return said("done")

    kit.registry.register(tool("advances", "Tells how far it is.", advance))
    to_server, incoming = anyio.create_memory_object_stream[Any](10)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](10)
    mcp = kit.app.protocol.mcp

    async def send(posted: Json) -> None:
        await to_server.send(SessionMessage(types.jsonrpc_message_adapter.validate_python(posted)))

    async def calls(number: int) -> None:
        await send(call("advances", {}, {"progressToken": number}, number))

    async with to_server, incoming, outgoing, from_server, asyncio.TaskGroup() as group:
        running = group.create_task(mcp.run(incoming, outgoing, mcp.create_initialization_options()))
        await send(INITIALIZE)
        await from_server.receive()
        await send(INITIALIZED)
        await calls(1)
        await begun.wait()
        await calls(2)
        while [flight.waiting for flight in kit.pipeline.cache.flights.values()] != [2]:
            await asyncio.sleep(0)
        await send(message("notifications/cancelled", {"requestId": 1}, None))
        while [flight.waiting for flight in kit.pipeline.cache.flights.values()] != [1]:
            await asyncio.sleep(0)
        go_on.set()
        heard = (await from_server.receive()).message
        running.cancel()
    assert isinstance(heard, types.JSONRPCResponse), heard
    assert heard.id == 2


async def logging(context: ToolContext, arguments: Json) -> Json:
    for level in ("debug", "info", "error"):
        await context.client.log(level, f"at {level}")
    return said("done")


async def test_log_messages_are_sent_at_the_level_the_client_asked_for(kit: Kit) -> None:
    """A 2025 client sets the level for its connection, a 2026 client with each call."""
    heard: list[str] = []

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(str(params.data))

    async with connected(kit, "legacy") as client:
        with pytest.raises(MCPError, match="Method not found"):
            await client.set_logging_level("info")
    kit.registry.register(tool("logs", "Logs.", logging, logs=True))
    async with connected(kit, "legacy", logging_callback=hear) as client:
        await client.call_tool("logs")
        assert heard == []
        await client.set_logging_level("info")
        await client.call_tool("logs")
        assert heard == ["at info", "at error"]
    heard.clear()
    for level, expected in ((None, []), ("error", ["at error"])):
        async with connected(kit, "auto", logging_callback=hear, log_level=level) as client:
            await client.call_tool("logs")
        assert heard == expected
