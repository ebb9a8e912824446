"""HTTP edge cases: answers to malformed requests and to those that are not MCP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.support.cases import cases
from tests.support.clients import TRANSPORTS, Connections, params
from tests.support.raw import BOTH, INITIALIZE
from tests.support.serving import Serving
from tests.support.stack import stack_settings

OVER_HTTP = [name for name, transport in TRANSPORTS.items() if transport.http]


@pytest.fixture
async def http(server: Serving) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        yield client


async def test_post_to_the_sse_address_gets_405(http: httpx.AsyncClient) -> None:
    """Clients that try Streamable HTTP first take a 4xx here as the sign to fall back to SSE."""
    answer = await http.post("/sse", json=INITIALIZE)
    assert answer.status_code == 405
    assert "GET" in answer.headers["allow"]


@cases(("query", "status"), [("?session_id=00000000000000000000000000000000", 404), ("?session_id=no-hex", 404), ("", 400)])
async def test_message_without_an_open_stream_is_refused(query: str, status: int, http: httpx.AsyncClient) -> None:
    """404 for a session that is not there, so that a client connects anew; 400 for a message that names none."""
    answer = await http.post(f"/messages/{query}", json=INITIALIZE)
    assert answer.status_code == status


@cases("path", ["/sse", "/mcp"])
@cases("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example"])
async def test_foreign_host_gets_421(path: str, host: str, http: httpx.AsyncClient) -> None:
    """It prevents DNS rebinding: a web page that resolves its own name to this machine."""
    method = "GET" if path == "/sse" else "POST"
    answer = await http.request(method, path, json=INITIALIZE, headers=BOTH | {"Host": host})
    assert answer.status_code == 421


@cases("origin", ["https://evil.example", "null", "file://", "http://localhost.evil.example"])
async def test_foreign_origin_gets_403(origin: str, http: httpx.AsyncClient) -> None:
    """A browser states the origin of its page."""
    answer = await http.post("/mcp", json=INITIALIZE, headers=BOTH | {"Origin": origin})
    assert answer.status_code == 403


@cases("origin", ["http://localhost:3000", "http://127.0.0.1", "https://localhost"])
async def test_local_origin_is_allowed(origin: str, http: httpx.AsyncClient) -> None:
    """The Inspector runs in a browser on this machine."""
    answer = await http.post("/mcp", json=INITIALIZE, headers=BOTH | {"Origin": origin})
    assert answer.status_code == 200


async def test_unknown_session_gets_404(http: httpx.AsyncClient) -> None:
    """404 tells a 2025 client to initialize anew."""
    headers = BOTH | {"Mcp-Session-Id": "0" * 32, "MCP-Protocol-Version": "2025-11-25"}
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    answer = await http.post("/mcp", json=body, headers=headers)
    assert answer.status_code == 404


async def test_body_that_is_not_json_is_a_parse_error(http: httpx.AsyncClient) -> None:
    """The answer does not repeat its content."""
    answer = await http.post("/mcp", content=b'{"secret', headers=BOTH)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32700
    assert "secret" not in answer.text


async def test_oversized_body_gets_413(http: httpx.AsyncClient) -> None:
    """It is refused before it is read: a megabyte is more than any call needs."""
    body = INITIALIZE | {"padding": "x" * (2**20)}
    answer = await http.post("/mcp", json=body, headers=BOTH)
    assert answer.status_code == 413


@cases("path", ["/", "/favicon.ico", "/.well-known/oauth-protected-resource", "/mcp/", "/healthz/"])
async def test_unknown_path_is_not_found(path: str, http: httpx.AsyncClient) -> None:
    """Clients probe for OAuth metadata and take 404 as "none"."""
    answer = await http.get(path)
    assert answer.status_code in (404, 307)
    if answer.status_code == 307:
        assert answer.headers["location"].rstrip("/") == f"{http.base_url}".rstrip("/") + path.rstrip("/")


async def test_probes_answer_on_any_host(http: httpx.AsyncClient) -> None:
    """Orchestrators probe by address."""
    for path in ("/healthz", "/readyz"):
        assert (await http.get(path, headers={"Host": "10.0.0.7:8080"})).status_code == 200
    ready = (await http.get("/readyz")).json()
    assert ready["status"] == "ready"
    backends = {"catalog", "titles", "stock", "releases", "orders", "profile", "pages", "redis", "embedder"}
    own = {"policies"} if stack_settings() else set()  # they are told where the demo is not all there is
    assert set(ready["dependencies"]) == {*backends, "background", "packages"} | own


async def test_metrics_count_calls_by_tool(http: httpx.AsyncClient, connections: Connections, server: Serving) -> None:
    """The output is in the form that Prometheus reads."""
    await connections.shared("http-2026", server.url).call("get_manga_details", {"title_id": "manga-001001"})
    answer = await http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert 'tool="get_manga_details"' in answer.text


@pytest.mark.parametrize("name", params(OVER_HTTP))
async def test_deleted_session_is_forgotten_for_that_user_only(
    name: str, connections: Connections, server: Serving, http: httpx.AsyncClient, session: str
) -> None:
    """DELETE /sessions/{id} is a logout. Another user of the same id keeps its state."""
    client = connections.shared(name, server.url)
    for user in ("demo-user-1", "demo-user-2"):
        await client.call("search_manga_catalog", {"query": "school", "max_results": 1}, sessionId=session, userId=user)
    answer = await http.delete(f"/sessions/{session}", headers={"X-User-ID": "demo-user-1"})
    assert answer.status_code == 204
    forgotten = await client.call("check_inventory", sessionId=session, userId="demo-user-1")
    kept = await client.call("check_inventory", sessionId=session, userId="demo-user-2")
    assert forgotten.error["name"] == "VALIDATION_ERROR"
    assert kept.value["checked"] == "last_search"


async def test_session_is_readable_by_its_user_only(
    connections: Connections, server: Serving, http: httpx.AsyncClient, session: str
) -> None:
    client = connections.shared(OVER_HTTP[0], server.url)
    await client.call("search_manga_catalog", {"query": "school", "max_results": 1}, sessionId=session, userId="demo-user-1")
    own = await http.get(f"/sessions/{session}", headers={"X-User-ID": "demo-user-1"})
    assert own.headers["cache-control"] == "no-store"
    assert [call["words"] for call in own.json()["calls"]] == ["school"]
    for other in ({"X-User-ID": "demo-user-2"}, {}):
        assert (await http.get(f"/sessions/{session}", headers=other)).json()["calls"] == []
    assert (await http.post(f"/sessions/{session}")).status_code == 405


async def test_deleting_an_unknown_or_deleted_session_gets_204(http: httpx.AsyncClient, session: str) -> None:
    """Agents retry the deletion."""
    for _ in range(2):
        assert (await http.delete(f"/sessions/{session}")).status_code == 204


async def test_malformed_session_id_gets_400(http: httpx.AsyncClient) -> None:
    """The answer states the form of a session id."""
    answer = await http.delete("/sessions/no%20spaces")
    assert answer.status_code == 400
    assert answer.json()["error"]["name"] == "VALIDATION_ERROR"
