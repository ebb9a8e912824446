"""Reading a resource is authorized, rate limited and audited like a call, and not part of the history."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from server.call import Principal, RequestMetadata
from server.identity.request_metadata import TrustStated
from server.telemetry.audit import AuditLog
from session.resilience.rate_limit import Rate
from tests.support.cases import cases
from tests.support.inmemory import ERAS, LEGACY_WORDS, connected
from tests.support.pipeline import Kit, Opener
from tests.support.primitives import offering, prompt, resource, template

pytestmark = [pytest.mark.virtual_time, pytest.mark.filterwarnings(LEGACY_WORDS)]


@pytest.fixture
async def kit(opener: Opener) -> Kit:
    """With nothing built in."""
    own: Kit = await opener(primitives=())
    return own


class Sink:
    """Takes each line of an audit."""

    dropped = 0

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def put(self, line: bytes, written: Callable[[bool], None] | None = None) -> bool:
        self.lines.append(json.loads(line))
        return True


class Granted(TrustStated):
    """Everybody has a token with this scope and no other."""

    async def identify(self, metadata: RequestMetadata, bearer: str | None) -> Principal:
        return Principal(scopes=frozenset({"mcp:manga-tools:lookup_order"}))


@cases("era", ERAS)
async def test_token_lists_and_reads_only_what_its_scopes_grant(era: str, opener: Opener) -> None:
    kit: Kit = await opener(identifier=Granted(), primitives=())
    for name, scope in {
        "orders": "mcp:manga-tools:lookup_order",
        "profile": "mcp:manga-tools:profile",
        "policies": "",
    }.items():
        kit.app.primitives.register(resource(f"test://{name}", name=name, scope=scope))
        kit.app.primitives.register(prompt(name, scope=scope))
    async with connected(kit, era) as client:
        listed = await client.list_resources()
        assert [each.name for each in listed.resources] == ["orders", "policies"]
        assert [each.name for each in (await client.list_prompts()).prompts] == ["orders", "policies"]
        await client.read_resource("test://orders")
        if era == "legacy":
            await client.subscribe_resource("test://orders")
            with pytest.raises(MCPError, match="no resource"):
                await client.subscribe_resource("test://profile")
        for refused in (client.read_resource("test://profile"), client.get_prompt("profile", {"name": "x"})):
            with pytest.raises(MCPError, match="scope") as error:
                await refused
            assert (error.value.code, error.value.data["name"]) == (types.INVALID_PARAMS, "FORBIDDEN")


async def test_reading_a_personal_resource_writes_an_audit_line(opener: Opener) -> None:
    sink = Sink()
    kit: Kit = await opener(audit=AuditLog(sink), primitives=())
    kit.app.primitives.register(template("test://orders/{order_id}", name="order", personal=True))
    kit.app.primitives.register(resource())
    async with connected(kit, "legacy") as client:
        meta = {"com.mangaassist/userId": "demo-user-1"}
        await client.read_resource("test://one", meta=meta)  # type: ignore[arg-type]
        await client.read_resource("test://orders/MNG-1", meta=meta)  # type: ignore[arg-type]
    [line] = sink.lines
    assert (line["tool"], line["outcome"], line["what"]["order_id"]) == ("resource order", "ok", "MNG-1")
    assert "demo-user-1" not in json.dumps(line)


async def test_reads_are_counted_and_rate_limited_like_calls(opener: Opener) -> None:
    kit: Kit = offering(await opener(rate=Rate(per_second=1, burst=3), primitives=()))
    names = []
    async with connected(kit, "legacy") as client:
        for _ in range(4):
            try:
                await client.read_resource("test://one")
            except MCPError as refused:
                names.append(refused.data["name"])
        for _ in range(4):
            with pytest.raises(MCPError) as unknown:
                await client.read_resource("test://none")
    assert names == ["RATE_LIMITED"]
    assert unknown.value.data["name"] == "RATE_LIMITED"
    assert [(event.tool, event.outcome) for event in kit.events][-2:] == [
        ("resource one", "ok"),
        ("resource one", "RATE_LIMITED"),
    ]


async def test_read_is_not_part_of_the_history_and_ignores_idempotency_keys(kit: Kit) -> None:
    """Two reads and a call have one key, and none is refused for it."""
    offering(kit)
    meta: Any = {"com.mangaassist/sessionId": "s-1", "com.mangaassist/idempotencyKey": "k-1"}
    async with connected(kit, "legacy") as client:
        await client.read_resource("test://one", meta=meta)
        called = await client.call_tool("search_manga_catalog", {"query": "berserk"}, meta=meta)
        await client.read_resource("test://many/1", meta=meta)
    assert not called.is_error
    recalled = await kit.memory.recall("s-1", None)
    assert [call.tool for call in recalled.calls] == ["search_manga_catalog"]


async def test_cache_scope_and_ttl_of_a_resource_are_stated(kit: Kit) -> None:
    stated = {"open": {}, "private": {"private": True, "ttl_ms": 5}, "scoped": {"scope": "mcp:manga-tools:lookup_order"}}
    for name, changed in stated.items():
        kit.app.primitives.register(resource(f"test://{name}", name=name, **changed))
    async with connected(kit, "auto") as client:
        read = {name: await client.read_resource(f"test://{name}") for name in stated}
        listed = await client.list_resources()
    assert {name: (each.ttl_ms, each.cache_scope) for name, each in read.items()} == {
        "open": (1000, "public"),
        "private": (5, "private"),
        "scoped": (1000, "private"),
    }
    assert (listed.ttl_ms, listed.cache_scope) == (1000, "public")
