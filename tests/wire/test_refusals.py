"""What is refused before any tool runs counts against its caller's limit, on the wire as it is switched on by default."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.support.clients import MODERN
from tests.support.serving import Serving

ENOUGH = 400
"""Calls of which the last are over any limit: they take a second, and 10 of them may pass in each."""


@pytest.fixture(scope="module")
def limited(serve: Callable[..., Serving]) -> Serving:
    return serve(MANGA_RATE_LIMIT="on")


class Asking:
    """The 2026 era by hand, as one session."""

    def __init__(self, http: httpx.AsyncClient, session: str) -> None:
        self._http, self._session = http, session

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """The name of what became of it, or "ok"."""
        own = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "plain", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": tool, "arguments": arguments, "_meta": own}
        sent = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool, "X-Session-ID": self._session}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = (await self._http.post("/mcp", json=body, headers=sent)).json()
        if "error" in answer:
            return str(answer["error"]["data"]["name"])
        return str(answer["result"]["structuredContent"]["error"]["name"]) if answer["result"]["isError"] else "ok"


@pytest.mark.parametrize(
    ("tool", "name"), [("search_manga_catalog", "VALIDATION_ERROR"), ("no_such_tool", "TOOL_NOT_FOUND")]
)
async def test_what_never_reaches_a_tool_is_limited_as_calls_are(tool: str, name: str, limited: Serving) -> None:
    """And nobody else is."""
    headers = {"Accept": "application/json, text/event-stream"}
    async with httpx.AsyncClient(base_url=limited.url, headers=headers, timeout=30) as http:
        loud, calm = Asking(http, uuid.uuid4().hex), Asking(http, uuid.uuid4().hex)
        found = [await loud.call(tool, {}) for _ in range(ENOUGH)]
        assert set(found) == {name, "RATE_LIMITED"}
        assert found[:40] == [name] * 40
        assert await calm.call(tool, {}) == name
        assert await calm.call("search_manga_catalog", {"query": "pirates"}) == "ok"
