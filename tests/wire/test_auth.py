"""MANGA_AUTH=token: a caller without a valid token is refused, and a stream belongs to its opener."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.cases import cases
from tests.support.clients import TRANSPORTS, Connections, params
from tests.support.process import until
from tests.support.serving import WAYS_IN, Serving

FIRST, SECOND = "a-secret-of-the-agent", "the-next-secret"
OVER_HTTP = [name for name, transport in TRANSPORTS.items() if transport.http]
LIST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}


@pytest.fixture(scope="module")
def guarded(serve: Callable[..., Serving]) -> Serving:
    return serve(MANGA_AUTH="token", MANGA_AUTH_TOKENS=f"{FIRST},{SECOND}")


@pytest.fixture
async def http(guarded: Serving) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=guarded.url, timeout=30) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@cases(("method", "path"), WAYS_IN)
@cases("headers", [{}, bearer("wrong"), {"Authorization": f"Basic {FIRST}"}])
async def test_every_way_in_without_a_valid_token_gets_401(
    method: str, path: str, headers: dict[str, str], http: httpx.AsyncClient
) -> None:
    """The answer states the wanted scheme, before any other check."""
    answer = await http.request(method, path, headers=headers | {"Accept": "text/event-stream"}, json=LIST)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_probes_and_metrics_need_no_token(http: httpx.AsyncClient) -> None:
    """Orchestrators have no token."""
    for path in ("/healthz", "/readyz", "/metrics"):
        assert (await http.get(path)).status_code == 200


@cases("token", [FIRST, SECOND])
@pytest.mark.parametrize("name", params(OVER_HTTP))
async def test_client_with_either_of_two_tokens_may_state_the_user(
    name: str, token: str, fresh: Connections, guarded: Serving
) -> None:
    """Two tokens allow a replacement without a gap."""
    client = fresh.open(name, guarded.url, bearer(token))
    answer = await client.call("lookup_order", {"order_id": "MNG-DEMO1001"}, userId="demo-user-1")
    assert answer.value["order_id"] == "MNG-DEMO1001"


async def test_post_by_another_principal_to_a_stream_gets_404(http: httpx.AsyncClient) -> None:
    """A known session id is not enough: 404, as for a missing stream. The opener's own POST is accepted."""
    async with opened_stream(http, bearer(FIRST)) as messages:
        stranger = await http.post(messages, json=LIST, headers=bearer(SECOND))
        assert stranger.status_code == 404
        own = await http.post(messages, json=LIST, headers=bearer(FIRST))
        assert own.status_code == 202


async def test_session_of_2025_cannot_be_used_or_ended_by_another_principal(http: httpx.AsyncClient) -> None:
    """Streamable HTTP follows the same rule."""
    accept = {"Accept": "application/json, text/event-stream"}
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    opened = await http.post("/mcp", json=body, headers=accept | bearer(FIRST))
    session = accept | {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
    for method in ("POST", "DELETE"):
        stranger = await http.request(method, "/mcp", json=LIST, headers=session | bearer(SECOND))
        assert stranger.status_code == 404
    own = await http.post("/mcp", json=LIST, headers=session | bearer(FIRST))
    assert own.status_code == 200


async def test_token_file_is_reloaded_without_a_restart(serve: Callable[..., Serving], tmp_path: Path) -> None:
    """The new token is accepted beside the old one, which is then removed."""
    file = tmp_path / "tokens"
    file.write_text(f"{FIRST}\n")
    serving = serve(MANGA_AUTH="token", MANGA_AUTH_TOKENS_FILE=str(file))
    async with httpx.AsyncClient(base_url=serving.url, timeout=30) as http:

        async def admits(token: str) -> bool:
            return (await http.delete("/sessions/any", headers=bearer(token))).status_code == 204

        assert (await admits(FIRST), await admits(SECOND)) == (True, False)
        file.write_text(f"{FIRST}\n{SECOND}\n")
        await until(lambda: admits(SECOND), 30, "the new secret is taken")
        assert await admits(FIRST)
        file.write_text(f"{SECOND}\n")

        async def refused() -> bool:
            return not await admits(FIRST)

        await until(refused, 30, "the old secret is taken no more")
        assert await admits(SECOND)


async def test_no_secret_is_ever_logged(guarded: Serving, http: httpx.AsyncClient) -> None:
    """Neither a right token nor a wrong one that was tried is in the log."""
    await http.get("/sse", headers=bearer("wrong-but-private"))
    for secret in (FIRST, SECOND, "wrong-but-private"):
        assert secret not in guarded.log


@asynccontextmanager
async def opened_stream(http: httpx.AsyncClient, headers: dict[str, str]) -> AsyncIterator[str]:
    """An SSE stream by hand; gives the address for its messages."""
    async with http.stream("GET", "/sse", headers=headers) as stream:
        assert stream.status_code == 200
        lines = stream.aiter_lines()
        async for line in lines:
            if line.startswith("data: "):
                yield line.removeprefix("data: ")
                return
        raise AssertionError(json.dumps(dict(stream.headers)))
