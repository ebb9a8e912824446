"""A tool is switched off while clients are connected: each is notified in the way of its era."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client.subscriptions import ServerEvent, ToolsListChanged
from mcp_types import ToolListChangedNotification

from tests.support.clients import TRANSPORTS, Client, Connections, OfSdk
from tests.support.listed import LISTED
from tests.support.serving import Serving

OVER_HTTP = [name for name, transport in TRANSPORTS.items() if transport.http]
SECONDS = 30.0
OFF = "get_recommendations"


class Switches:
    """The flags file of a server that runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set({})

    def set(self, flags: dict[str, Any]) -> None:
        """Replaced in one step, as whoever deploys flags does it."""
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(flags), "utf-8")
        new.replace(self.path)


@pytest.fixture(scope="module")
def switches(tmp_path_factory: pytest.TempPathFactory) -> Switches:
    return Switches(tmp_path_factory.mktemp("flags") / "flags.json")


@pytest.fixture(scope="module")
def server_with_switches(serve: Callable[..., Serving], switches: Switches) -> Serving:
    return serve(MANGA_FLAGS_URL=switches.path.as_uri())


@pytest.fixture
async def switched(server_with_switches: Serving, switches: Switches, connections: Connections) -> Serving:
    """Everything is on when a test begins."""
    switches.set({})
    client = connections.shared("http-2026", server_with_switches.url)
    await until_listed(client, lambda names: OFF in names)
    return server_with_switches


async def names_of(client: Client) -> list[str]:
    return [tool["name"] for tool in await client.tools()]


async def until_listed(client: Client, expected: Callable[[list[str]], bool]) -> list[str]:
    """Lists until the list is as expected: the server looks at the file four times a second."""
    async with asyncio.timeout(SECONDS):
        while not expected(names := await names_of(client)):
            await asyncio.sleep(0.05)
    return names


class Ear:
    """Hears notifications on whatever thread, and tells the test."""

    def __init__(self) -> None:
        self._heard: asyncio.Queue[None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self.tools: list[str] = []

    async def of_sdk(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.hear()

    def of_strands(self, tools: list[str]) -> None:
        self.tools = tools
        self.hear()

    def hear(self) -> None:
        self._loop.call_soon_threadsafe(self._heard.put_nowait, None)

    async def until(self, true: Callable[[], Awaitable[bool]]) -> None:
        """Waits for notifications until one after which it is true: an earlier change may still be on its way."""
        async with asyncio.timeout(SECONDS):
            await self._heard.get()
            while not await true():
                await self._heard.get()


async def test_disabled_tool_is_not_listed_and_names_its_alternative(
    connections: Connections, switched: Serving, switches: Switches
) -> None:
    """Most clients ignore list changes and call it all the same, so a model has to understand the answer."""
    clients = {name: connections.shared(name, switched.url) for name in OVER_HTTP}
    for client in clients.values():
        assert OFF in await names_of(client)
    switches.set({OFF: False})
    for name, client in clients.items():
        names = await until_listed(client, lambda names: OFF not in names)
        assert names == [name for name in LISTED if name != OFF], name
        error = (await client.call(OFF, {"criteria": "anything"})).error
        assert (error["code"], error["name"]) == (-32601, "TOOL_NOT_FOUND"), name
        assert "search_manga_catalog" in error["data"]["details"]["instead"], name


async def test_client_of_2025_is_notified_of_a_changed_list(
    fresh: Connections, switched: Serving, switches: Switches
) -> None:
    """notifications/tools/list_changed comes on its connection, for off and for on again."""
    ears = {name: Ear() for name in ("sse-2025", "http-2025", "get-mcp-as-sse")}
    clients = {name: fresh.open(name, switched.url, message_handler=ear.of_sdk) for name, ear in ears.items()}
    for flags in ({OFF: False}, {}):
        switches.set(flags)
        for name, ear in ears.items():
            client, on = clients[name], not flags

            async def so(client: Client = client, on: bool = on) -> bool:
                return (OFF in await names_of(client)) is on

            await ear.until(so)


async def test_subscription_of_2026_is_notified_of_a_changed_list(
    fresh: Connections, switched: Serving, switches: Switches
) -> None:
    """The event comes on its subscriptions/listen stream."""
    for name, flags in (("sse-2026", {OFF: False}), ("http-2026", {})):
        client = fresh.open(name, switched.url)
        assert isinstance(client, OfSdk)
        assert await client.held.ask(first_event(client, switches, flags)) == ToolsListChanged()


async def first_event(client: OfSdk, switches: Switches, flags: dict[str, Any]) -> ServerEvent:
    """What is heard when the flags become these."""
    async with client.sdk.listen(tools_list_changed=True) as subscription:
        switches.set(flags)
        return await anext(aiter(subscription))


async def test_strands_refreshes_the_tools_of_its_agent(fresh: Connections, switched: Serving, switches: Switches) -> None:
    """`on_tools_changed` makes its start fail where a 2026 server has no subscriptions; here it works."""
    ears = {name: Ear() for name in ("strands-sse", "strands-http")}
    for name, ear in ears.items():
        assert OFF in await names_of(fresh.open(name, switched.url, on_tools_changed=ear.of_strands))
    switches.set({OFF: False})
    for ear in ears.values():

        async def so(ear: Ear = ear) -> bool:
            return OFF not in ear.tools

        await ear.until(so)
        assert "search_manga_catalog" in ear.tools


async def test_tool_list_that_depends_on_the_user_is_private(
    connections: Connections, switched: Serving, switches: Switches
) -> None:
    """So that no cache between client and server gives one customer's tools to another; without a user only what is on
    for everybody is listed, and each call is decided by its own user."""
    client = connections.shared("http-2026", switched.url)
    assert isinstance(client, OfSdk)
    assert (await client.listed())["cacheScope"] == "public"
    switches.set({OFF: {"percent": 50}})
    await until_listed(client, lambda names: OFF not in names)
    assert (await client.listed())["cacheScope"] == "private"
    answers = [await client.call(OFF, {"criteria": "cats"}, userId=f"customer-{n}") for n in range(20)]
    assert {answer.is_error for answer in answers} == {True, False}


async def test_wrong_flags_file_is_logged_and_changes_nothing(
    connections: Connections, switched: Serving, switches: Switches
) -> None:
    """The last valid file stays in force."""
    client = connections.shared("http-2026", switched.url)
    switches.set({OFF: False})
    await until_listed(client, lambda names: OFF not in names)
    switches.set({OFF: {"percent": 101}})
    async with asyncio.timeout(SECONDS):
        while "flags left as they were" not in switched.log:
            await asyncio.sleep(0.05)
    assert OFF not in await names_of(client)
