"""What stands behind a host's page: a client of the MCP server under test that has said that it shows cards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol, TypeVar

from mcp.client import Client
from mcp.client.extension import advertise
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

Json = dict[str, Any]
T = TypeVar("T")
EXTENSION = "io.modelcontextprotocol/ui"
MIME_TYPE = "text/html;profile=mcp-app"
CUSTOMER = "demo-user-1"


class HostBackend(Protocol):
    async def answer(self, method: str, params: Json) -> Json:
        """The result of an MCP request. Raises MCPError."""
        ...


class OfServer:
    """Passes each request on to the server. `calls` are the tools that were called, with their arguments."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.calls: list[tuple[str, Json]] = []

    async def answer(self, method: str, params: Json) -> Json:
        result = await self._asked(method, params)
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def _asked(self, method: str, params: Json) -> Any:
        match method:
            case "tools/list":
                return await self._client.list_tools()
            case "resources/read":
                return await self._client.read_resource(params["uri"])
            case "tools/call":
                self.calls.append((params["name"], params.get("arguments") or {}))
                return await self._client.call_tool(params["name"], params.get("arguments") or {})
        raise AssertionError(f"a host asks no {method}")


@asynccontextmanager
async def backend_of(url: str, user: str = CUSTOMER) -> AsyncIterator[OfServer]:
    """Over Streamable HTTP, on behalf of a customer."""
    async with in_own_task(_connected(url, user)) as client:
        yield OfServer(client)


@asynccontextmanager
async def _connected(url: str, user: str) -> AsyncIterator[Client]:
    shows = advertise(EXTENSION, {"mimeTypes": [MIME_TYPE]})
    async with (
        create_mcp_http_client(headers={"X-User-ID": user}) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), cache=None, extensions=[shows]) as client,
    ):
        yield client


@asynccontextmanager
async def in_own_task(context: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """A fixture is made and ended in two tasks, and what holds a task group wants to be entered and left in one."""
    opened: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        try:
            async with context as value:
                opened.set_result(value)
                await over.wait()
        except BaseException as e:
            if opened.done():
                raise
            opened.set_exception(e)

    holding = asyncio.create_task(hold())
    try:
        yield await opened
    finally:
        over.set()
        await holding
