"""Real clients of MCP behind one way to call a tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Protocol

import mcp_types as types
from mcp.client import Client as SdkClient
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from strands.tools.mcp import MCPClient

from tests.chaos.conversation import Json

GIVE_UP_SECONDS = 10.0
KINDS = ("sse-legacy", "sse-auto", "sse-legacy", "http", "strands")


class Client(Protocol):
    async def call(self, tool: str, arguments: Json, meta: Json) -> tuple[bool, Any, list[str], Json]:
        """Whether it is an error, the structured content, the texts and the `_meta`."""
        ...


class Official:
    def __init__(self, sdk: SdkClient) -> None:
        self._sdk = sdk

    async def call(self, tool: str, arguments: Json, meta: Json) -> tuple[bool, Any, list[str], Json]:
        result = await self._sdk.call_tool(tool, arguments, meta=meta)  # type: ignore[arg-type]
        texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
        return bool(result.is_error), result.structured_content, texts, dict(result.meta or {})


class Strands:
    def __init__(self, client: MCPClient) -> None:
        self._client = client

    async def call(self, tool: str, arguments: Json, meta: Json) -> tuple[bool, Any, list[str], Json]:
        limit = timedelta(seconds=GIVE_UP_SECONDS)
        raw: Any = await self._client.call_tool_async("use", tool, arguments, limit, meta=meta)
        texts = [block["text"] for block in raw["content"]]
        return raw["status"] == "error", raw.get("structuredContent"), texts, raw.get("metadata", {})


@asynccontextmanager
async def connected(kind: str, url: str) -> AsyncIterator[Client]:
    if kind == "strands":
        client = MCPClient(lambda: sse_client(url + "/sse"))
        await asyncio.to_thread(client.__enter__)
        try:
            yield Strands(client)
        finally:
            await asyncio.to_thread(client.__exit__, None, None, None)
    elif kind == "http":
        async with create_mcp_http_client() as http, SdkClient(_streams(url, http), mode="2026-07-28") as sdk:
            yield Official(sdk)
    else:
        async with SdkClient(sse_client(url + "/sse"), mode=kind.removeprefix("sse-")) as sdk:
            yield Official(sdk)


def _streams(url: str, http: Any) -> Any:
    return streamable_http_client(url + "/mcp", http_client=http)
