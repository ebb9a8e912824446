"""The OpenAI Agents SDK over its three kinds of server, with its defaults: no model is needed to list and call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents.mcp import MCPServer, MCPServerSse, MCPServerStdio, MCPServerStreamableHttp

from tests.support.serving import ROOT, Serving, clean_environment


def over_sse(url: str, cache: Path) -> MCPServer:
    return MCPServerSse(params={"url": f"{url}/sse"})


def over_http(url: str, cache: Path) -> MCPServer:
    return MCPServerStreamableHttp(params={"url": f"{url}/mcp"})


def over_stdio(url: str, cache: Path) -> MCPServer:
    # Its timeout of 5 s includes the start of the process, which a busy machine may need longer for.
    environment = clean_environment(cache, {"MANGA_EMBEDDER": "none"})
    params: Any = {"command": sys.executable, "args": ["-m", "server", "stdio"], "cwd": str(ROOT), "env": environment}
    return MCPServerStdio(params=params, client_session_timeout_seconds=30)


@pytest.mark.parametrize("connect", [over_sse, over_http, over_stdio])
async def test_the_openai_agents_sdk_lists_and_calls(
    connect: Callable[[str, Path], MCPServer], server: Serving, cache: Path
) -> None:
    """A success with its structure, a failure as a result and not as an exception, `_meta` passed on."""
    async with connect(server.url, cache) as agent:
        assert [tool.name for tool in await agent.list_tools()][0] == "search_manga_catalog"
        found = dumped(await agent.call_tool("search_manga_catalog", {"query": "one piece", "max_results": 1}))
        assert found["structuredContent"]["results"][0]["title_id"] == "manga-001001"
        wrong = dumped(await agent.call_tool("search_manga_catalog", {"query": ""}))
        assert wrong["isError"] is True
        assert wrong["structuredContent"]["error"]["name"] == "VALIDATION_ERROR"
        user = {"com.mangaassist/userId": "demo-user-1"}
        order = dumped(await agent.call_tool("lookup_order", {"order_id": "MNG-DEMO1001"}, meta=user))
        assert order["structuredContent"]["order_id"] == "MNG-DEMO1001"


def dumped(result: Any) -> dict[str, Any]:
    return dict(result.model_dump(mode="json", by_alias=True))
