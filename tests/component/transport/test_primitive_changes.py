"""Which clients are notified of a changed resource, or of changed lists of resources or prompts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError

from tests.support.inmemory import LEGACY_WORDS, connected
from tests.support.pipeline import Kit, Opener
from tests.support.primitives import offering, prompt, resource

pytestmark = [pytest.mark.virtual_time, pytest.mark.filterwarnings(LEGACY_WORDS)]


@pytest.fixture
async def kit(opener: Opener) -> Kit:
    """With nothing built in."""
    own: Kit = await opener(primitives=())
    return own


@asynccontextmanager
async def keeping(kit: Kit) -> AsyncIterator[None]:
    """As the application keeps telling of changes."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each.run()) for each in (kit.app.protocol.watchers, kit.app.protocol.tool_list_changes)]
        yield
        for task in tasks:
            task.cancel()


async def test_client_of_2025_is_notified_of_subscribed_resources_only(kit: Kit) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(told: Any) -> None:
        if isinstance(told, types.ResourceUpdatedNotification):
            heard.put_nowait(str(told.params.uri))

    protocol = offering(kit).app.protocol
    async with connected(kit, "legacy", message_handler=hear) as client:
        with pytest.raises(MCPError, match="no resource"):
            await client.subscribe_resource("test://none")
        for uri in ("test://one", "test://many/1"):
            await client.subscribe_resource(uri)
        await protocol.tool_list_changes.bus.publish(ResourceUpdated("test://many/2"))
        await protocol.tool_list_changes.bus.publish(ResourceUpdated("test://one"))
        assert await heard.get() == "test://one"
        await client.unsubscribe_resource("test://one")
        await protocol.tool_list_changes.bus.publish(ResourceUpdated("test://one"))
        await protocol.tool_list_changes.bus.publish(ResourceUpdated("test://many/1"))
        assert await heard.get() == "test://many/1"
        for number in range(2, 65):
            await client.subscribe_resource(f"test://many/{number}")
        await client.subscribe_resource("test://many/2")  # again, which is none more
        with pytest.raises(MCPError, match="as many resources as it may"):
            await client.subscribe_resource("test://one")
        await client.unsubscribe_resource("test://many/2")
        longest = "test://many/".ljust(256, "x")
        with pytest.raises(MCPError, match="as many resources as it may"):
            await client.subscribe_resource(longest + "x")
        await client.subscribe_resource(longest)
    assert len(protocol.watchers._watched) == 0


async def test_client_of_2025_is_notified_once_of_a_burst_of_list_changes(kit: Kit) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(told: Any) -> None:
        heard.put_nowait(type(told).__name__)

    offering(kit)
    async with keeping(kit), connected(kit, "legacy", message_handler=hear) as client:
        await client.list_prompts()
        for number in range(5):
            kit.app.primitives.register(prompt(f"greet-{number}"))
        assert await heard.get() == "PromptListChangedNotification"
        kit.app.primitives.register(resource("test://two"))
        assert await heard.get() == "ResourceListChangedNotification"
        assert heard.empty()


async def test_subscription_of_2026_is_notified_of_the_named_resources(kit: Kit) -> None:
    offering(kit)
    async with keeping(kit), connected(kit, "auto") as client:
        wanted = {"resource_subscriptions": ["test://one"], "prompts_list_changed": True}
        async with client.listen(**wanted) as events:
            kit.app.primitives.register(prompt("greet-2"))
            await kit.app.protocol.tool_list_changes.bus.publish(ResourceUpdated("test://two"))
            await kit.app.protocol.tool_list_changes.bus.publish(ResourceUpdated("test://one"))
            told = [type(await anext(events)).__name__ for _ in range(2)]
    assert sorted(told) == ["PromptsListChanged", "ResourceUpdated"]
