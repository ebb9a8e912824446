"""Calls refused before any tool runs count against the caller's rate limit in the default configuration."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import pytest

from tests.support.raw import call, in_2026
from tests.support.serving import Serving

ENOUGH = 400
"""Calls of which the last are over any limit: they take a second, and 10 of them may pass in each."""


class Asking:
    """The 2026 era by hand, as one session."""

    def __init__(self, http: httpx.AsyncClient, session: str) -> None:
        self._http, self._session = http, session

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """The name of what became of it, or "ok"."""
        body, headers = in_2026(call(tool, arguments))
        answer = (await self._http.post("/mcp", json=body, headers={**headers, "X-Session-ID": self._session})).json()
        if "error" in answer:
            return str(answer["error"]["data"]["name"])
        return str(answer["result"]["structuredContent"]["error"]["name"]) if answer["result"]["isError"] else "ok"


@pytest.mark.parametrize(
    ("tool", "name"), [("search_manga_catalog", "VALIDATION_ERROR"), ("no_such_tool", "TOOL_NOT_FOUND")]
)
async def test_refused_calls_are_rate_limited_per_caller(tool: str, name: str, limited: Serving) -> None:
    """No other caller is limited."""
    async with httpx.AsyncClient(base_url=limited.url, timeout=30) as http:
        loud, calm = Asking(http, uuid.uuid4().hex), Asking(http, uuid.uuid4().hex)
        found = [await loud.call(tool, {}) for _ in range(ENOUGH)]
        assert set(found) == {name, "RATE_LIMITED"}
        assert found[:40] == [name] * 40
        assert await calm.call(tool, {}) == name
        assert await calm.call("search_manga_catalog", {"query": "pirates"}) == "ok"
