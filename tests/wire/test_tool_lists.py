"""tools/list for every client: all tools in one order, with the schemas in tests/snapshots."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from mcp.shared.exceptions import MCPError

from server.results import compact
from tests.support.cases import cases
from tests.support.clients import Client, Connections, OfSdk
from tests.support.listed import LISTED
from tests.support.raw import in_2026, message
from tests.support.serving import Serving
from tools.registry import TOOLS

SNAPSHOTS = Path(__file__).resolve().parents[1] / "snapshots"
MOST_BYTES, LONGEST_DESCRIPTION = 24 * 1024, 1024
"""Bytes for remember_preference and forget_preference."""
NAMES = [tool.name for tool in TOOLS]


def snapshot(name: str) -> dict[str, Any]:
    return dict(json.loads((SNAPSHOTS / f"{name}.json").read_text("utf-8")))


async def test_every_client_lists_every_tool_in_one_order(client: Client) -> None:
    """It is listed twice, because an order that comes from a set differs only now and then."""
    assert [tool["name"] for tool in await client.tools()] == list(LISTED)
    assert [tool["name"] for tool in await client.tools()] == list(LISTED)


async def test_every_client_sees_the_tools_as_in_the_snapshots(client: Client) -> None:
    """A changed description or schema changes what models do, and has to be changed there on purpose."""
    for tool in await client.tools():
        assert tool == snapshot(tool["name"])


def test_every_tool_has_a_snapshot_and_no_other_exists() -> None:
    """The snapshot of a removed tool is removed too."""
    assert sorted(path.stem for path in SNAPSHOTS.glob("*.json")) == sorted(NAMES)


def test_tool_list_stays_within_its_size_limit(server: Serving) -> None:
    """Every model of every conversation reads it: the whole answer as it is sent, with what is off by default, and each text in
    it."""
    body, headers = in_2026(message("tools/list"))
    answer = httpx.post(f"{server.url}/mcp", json=body, headers=headers)
    off = sum(len(compact(snapshot(name)).encode()) + 1 for name in NAMES if name not in LISTED)
    size = len(answer.content) + off
    assert size <= MOST_BYTES, f"{size} bytes: say less in schemas and descriptions"
    tools = next(json.loads(line) for line in _messages(answer))["result"]["tools"]
    assert [tool["name"] for tool in tools] == list(LISTED)
    longest = max(_descriptions([snapshot(name) for name in NAMES]), key=lambda text: len(text.encode()))
    assert len(longest.encode()) <= LONGEST_DESCRIPTION, longest


def _messages(answer: httpx.Response) -> Iterator[str]:
    if not answer.headers["content-type"].startswith("text/event-stream"):
        yield answer.text
    yield from (line.removeprefix("data:") for line in answer.text.splitlines() if line.startswith("data:"))


def _descriptions(value: Any) -> Iterator[str]:
    """Every description, of tools and within their schemas."""
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _descriptions(each)
    if isinstance(value, dict) and isinstance(value.get("description"), str):
        yield value["description"]


@cases("name", NAMES)
def test_every_output_schema_admits_the_error_envelope(name: str) -> None:
    """Some clients validate failures against the output schema, and would drop the answer."""
    validator = Draft202012Validator(snapshot(name)["outputSchema"])
    data = {"tool": name, "request_id": "1", "retryable": False, "retry_after_ms": None, "details": {}}
    error = {"code": -32001, "name": "TIMEOUT", "message": "late", "data": data}
    assert validator.is_valid({"error": error})
    assert not validator.is_valid({})


@cases("name", ["sse-2026", "http-2026", "stdio-2026"])
async def test_tool_list_of_2026_states_its_lifetime_and_scope(name: str, connections: Connections, server: Serving) -> None:
    """`ttlMs` is a second, and `cacheScope` says that the list is the same for everybody."""
    client = connections.shared(name, server.url)
    assert isinstance(client, OfSdk)
    listed = await client.listed()
    assert (listed["ttlMs"], listed["cacheScope"]) == (1000, "public")


@cases("name", ["sse-2025", "http-2025", "stdio-2025"])
async def test_handshake_of_2025_announces_list_changes(name: str, connections: Connections, server: Serving) -> None:
    """The handshake has `tools.listChanged`, and the server's own name."""
    client = connections.shared(name, server.url)
    assert isinstance(client, OfSdk)
    assert client.sdk.protocol_version == "2025-11-25"
    tools = client.sdk.server_capabilities.tools
    assert tools is not None
    assert tools.list_changed is True
    assert client.sdk.server_info is not None
    assert client.sdk.server_info.name == "manga-tools"


@cases("name", ["sse-2025", "http-2026"])
async def test_unknown_cursor_is_refused(name: str, connections: Connections, server: Serving) -> None:
    """The list is one page; a request for a second one must not get the first again."""
    client = connections.shared(name, server.url)
    assert isinstance(client, OfSdk)
    with pytest.raises(MCPError) as raised:
        await client.held.ask(client.sdk.list_tools(cursor="second-page"))
    assert raised.value.error.code == -32602
