"""MANGA_AUTH=jwt over real sockets: an issuer, a server that trusts it, and every HTTP client."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from mcp.client.auth.utils import (
    build_protected_resource_metadata_discovery_urls,
    extract_field_from_www_auth,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    handle_protected_resource_response,
)
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth_utils import check_resource_allowed

from tests.support import issuer as kinds
from tests.support.cases import cases
from tests.support.clients import TRANSPORTS, Client, Connections, RpcError, params
from tests.support.issuer import ALL_TOOLS, Issuer, SigningKey, issuing, scope
from tests.support.listed import LISTED
from tests.support.process import until
from tests.support.raw import INITIALIZE, VERSION_2025, call, in_2026, message
from tests.support.serving import WAYS_IN, Serving
from tests.support.websocket import Refused, websocket

OVER_HTTP = [name for name, transport in TRANSPORTS.items() if transport.http]
ORDER = {"order_id": "MNG-DEMO1001"}
OTHER_ORDER = {"order_id": "MNG-DEMO2001"}
ACCEPT = {"Accept": "application/json, text/event-stream"}
ALL_SCOPES = (*ALL_TOOLS, "profile")
"""Of the resources, orders have their tool's and the profile has its own."""
METADATA = "/.well-known/oauth-protected-resource"
LEEWAY = 30
SOME_SECONDS = 6
"""That a token still lives: long enough for two requests on a busy machine."""


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as own:
        yield own


@pytest.fixture(scope="module")
def believing(serve: Callable[..., Serving], issuer: Issuer) -> Serving:
    return serve(**issuer.settings)


@pytest.fixture(scope="module")
def behind_proxy(serve: Callable[..., Serving], issuer: Issuer) -> Serving:
    """With WebSockets too."""
    return serve(**issuer.settings, MANGA_TRUSTED_PROXIES="127.0.0.0/8", MANGA_WEBSOCKET="on")


@pytest.fixture
async def http(believing: Serving) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=believing.url, timeout=30) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def names(client: Client) -> list[str]:
    return [tool["name"] for tool in await client.tools()]


@pytest.mark.parametrize("name", params(OVER_HTTP))
async def test_user_token_lists_and_calls_only_what_its_scopes_grant(
    name: str, fresh: Connections, believing: Serving, issuer: Issuer
) -> None:
    """On every transport, in both eras: other tools are not listed, and called all the same they name the scope, on a
    stream in the result and else by HTTP, which few clients pass on."""
    granted = ("check_inventory", "lookup_order")
    key = issuer.keys[OVER_HTTP.index(name) % 2]
    client = fresh.open(name, believing.url, bearer(issuer.token("demo-user-1", *granted, key=key)))
    assert await names(client) == list(granted)
    assert (await client.call("lookup_order", ORDER)).value["order_id"] == ORDER["order_id"]
    assert (await client.call("lookup_order", OTHER_ORDER)).error["name"] == "NOT_FOUND"
    if "sse" in name:
        refused = await client.call("search_manga_catalog", {"query": "robots"})
        assert (refused.error["code"], refused.error["name"]) == (-32008, "FORBIDDEN")
        assert refused.error["data"]["details"] == {"scope": scope("search_manga_catalog")}
    else:
        with pytest.raises(RpcError):
            await client.call("search_manga_catalog", {"query": "robots"})
    another = await client.call("lookup_order", OTHER_ORDER, userId="demo-user-2")
    assert another.error["name"] == "FORBIDDEN"


@pytest.mark.parametrize("name", params(OVER_HTTP))
async def test_agents_on_a_shared_connection_bring_each_users_token(
    name: str, fresh: Connections, believing: Serving, issuer: Issuer
) -> None:
    """`_meta` carries it call by call; without it the agent acts for nobody, whatever it states."""
    client = fresh.open(name, believing.url, bearer(issuer.agents_token()))
    assert await names(client) == list(LISTED)
    for user, own, others in (("demo-user-1", ORDER, OTHER_ORDER), ("demo-user-2", OTHER_ORDER, ORDER)):
        token = issuer.token(user, "lookup_order")
        assert (await client.call("lookup_order", own, userToken=token)).value["order_id"] == own["order_id"]
        assert (await client.call("lookup_order", others, userToken=token)).error["name"] == "NOT_FOUND"
        refused = await client.call("check_inventory", {"title_ids": ["manga-001001"]}, userToken=token)
        assert refused.error["name"] == "FORBIDDEN", "the user's scopes decide"
        stated = await client.call("lookup_order", own, userToken=token, userId="demo-user-3")
        assert stated.error["name"] == "FORBIDDEN"
    assert (await client.call("lookup_order", ORDER)).error["name"] == "FORBIDDEN"
    assert (await client.call("lookup_order", ORDER, userId="demo-user-1")).error["name"] == "FORBIDDEN"
    expired = issuer.token("demo-user-1", now=time.time() - 1000)
    for wrong in (expired, "x", 7, {"token": expired}):
        error = (await client.call("lookup_order", ORDER, userToken=wrong)).error
        assert (error["name"], error["message"].startswith("userToken: ")) == ("FORBIDDEN", True)
    found = await client.call("search_manga_catalog", {"query": "robots", "max_results": 1})
    assert found.value["results"], "what needs no customer is open to the agent"


async def test_tool_list_restricted_by_a_token_is_private(http: httpx.AsyncClient, issuer: Issuer) -> None:
    """No shared cache may keep it; an argument about the user does not empty it."""
    for meta in ({}, {"com.mangaassist/userId": "somebody-else"}, {"com.mangaassist/userToken": "x"}):
        body, headers = in_2026(message("tools/list", {}), **meta)
        result = (await http.post("/mcp", json=body, headers=headers | bearer(issuer.token("u", "lookup_order")))).json()
        assert result["result"]["cacheScope"] == "private"
        assert [tool["name"] for tool in result["result"]["tools"]] == ["lookup_order"]


async def test_unknown_tool_error_suggests_only_permitted_tools(http: httpx.AsyncClient, issuer: Issuer) -> None:
    """Any other suggestion would be refused."""
    body, headers = in_2026(call("lookup_orders", ORDER))
    for granted, nearest in (("lookup_order", ["lookup_order"]), ("check_inventory", [])):
        sent = headers | bearer(issuer.token("demo-user-1", granted))
        error = (await http.post("/mcp", json=body, headers=sent)).json()["error"]
        assert (error["code"], error["data"]) == (-32602, {"name": "TOOL_NOT_FOUND", "nearest": nearest})
        assert ("lookup_order?" in error["message"]) == bool(nearest)


def wrong_tokens(issuer: Issuer) -> dict[str, str]:
    return {
        "expired": issuer.token(now=time.time() - 1000),
        "for somebody else": issuer.token(aud="https://other.example"),
        "of somebody else": issuer.token(iss="https://other.example"),
        "a stranger's": issuer.token(key=SigningKey.rsa(issuer.keys[0].kid)),
        "no token": "x",
        "too long": issuer.token(padding="x" * 10_000),
    }


@cases(("method", "path"), WAYS_IN)
async def test_every_way_in_without_a_token_gets_401_with_the_metadata_address(
    method: str, path: str, http: httpx.AsyncClient, believing: Serving, issuer: Issuer
) -> None:
    """By RFC 6750 and RFC 9728 it states the token's error and where the metadata is."""
    resource = {"/sse": "/sse", "/mcp": "/mcp"}.get(path, "/sse" if path.startswith("/messages") else "")
    for name, token in {"": "", **wrong_tokens(issuer)}.items():
        headers = ACCEPT | (bearer(token) if token else {})
        answer = await http.request(method, path, headers=headers, json=call("lookup_order", ORDER))
        assert answer.status_code == 401, name
        challenge = answer.headers["www-authenticate"]
        assert challenge.startswith("Bearer ")
        assert f'resource_metadata="{believing.url}{METADATA}{resource}"' in challenge
        assert f'scope="{scope(*ALL_SCOPES)}"' in challenge
        assert ('error="invalid_token"' in challenge) == bool(token)
        assert not token or token not in challenge + answer.text


@cases("resource", ["", "/mcp", "/sse"])
async def test_protected_resource_metadata_names_the_issuer_and_scopes(
    resource: str, http: httpx.AsyncClient, believing: Serving, issuer: Issuer
) -> None:
    """It needs no token, as it is for clients without one."""
    answer = await http.get(METADATA + resource)
    assert answer.status_code == 200
    assert answer.json() == {
        "resource": f"{believing.url}{resource}",
        "authorization_servers": [issuer.name],
        "scopes_supported": [scope(each) for each in ALL_SCOPES],
        "bearer_methods_supported": ["header"],
        "resource_name": "MangaAssist tools",
    }
    forged = await http.get(METADATA + resource, headers={"X-Forwarded-Proto": "https"})
    assert forged.json()["resource"].startswith("http://127.0.0.1:"), "nobody said that there is a proxy"
    assert (await http.get(METADATA + resource, headers={"Host": "attacker.example"})).status_code == 421


def test_metadata_uses_the_scheme_stated_by_a_trusted_proxy(behind_proxy: Serving) -> None:
    """The proxy ends TLS, and the resource is named as its clients call it."""
    for said, scheme in (("https", "https"), ("javascript", "http")):
        document = httpx.get(
            behind_proxy.url + METADATA, headers={"X-Forwarded-Proto": said, "X-Forwarded-For": "10.1.2.3"}
        ).json()
        assert document["resource"].startswith(f"{scheme}://127.0.0.1:")


async def test_bearer_without_the_scope_of_a_tool_gets_403_with_the_scope(
    http: httpx.AsyncClient, believing: Serving, issuer: Issuer
) -> None:
    """403 on Streamable HTTP, as the official client reads it; a token in `_meta` is refused in the result."""
    own = bearer(issuer.token("demo-user-1", "check_inventory"))
    opened = await http.post("/mcp", json=INITIALIZE, headers=ACCEPT | own)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": VERSION_2025}
    in_session = (call("lookup_order", ORDER), ACCEPT | session)
    for body, headers in (in_2026(call("lookup_order", ORDER)), in_session):
        refused = await http.post("/mcp", json=body, headers=headers | own)
        assert refused.status_code == 403
        assert extract_field_from_www_auth(refused, "error") == "insufficient_scope"
        assert extract_scope_from_www_auth(refused) == scope("lookup_order")
        assert extract_resource_metadata_from_www_auth(refused) == f"{believing.url}{METADATA}/mcp"
    token = issuer.token("demo-user-1", "check_inventory")
    body, headers = in_2026(call("lookup_order", ORDER), **{"com.mangaassist/userToken": token})
    for allowed in (own, bearer(issuer.agents_token())):
        answer = await http.post("/mcp", json=body, headers=headers | allowed)
        assert answer.status_code == 200
        assert answer.json()["result"]["structuredContent"]["error"]["name"] == "FORBIDDEN"


@cases(
    ("method", "params", "wanted"),
    [
        ("resources/read", {"uri": "manga://orders/MNG-DEMO1001"}, "lookup_order"),
        ("resources/read", {"uri": "manga://profile"}, "profile"),
        (
            "completion/complete",
            {
                "ref": {"type": "ref/resource", "uri": "manga://orders/{order_id}"},
                "argument": {"name": "order_id", "value": "MNG"},
            },
            "lookup_order",
        ),
    ],
)
async def test_bearer_without_the_scope_of_a_resource_or_prompt_gets_403_with_the_scope(
    method: str, params: dict[str, Any], wanted: str, http: httpx.AsyncClient, issuer: Issuer
) -> None:
    """A token in `_meta` gets a protocol error, since a read's result cannot state a failure."""
    without, granted = (issuer.token("demo-user-1", each) for each in ("check_inventory", wanted))
    body, headers = in_2026(message(method, params))
    refused = await http.post("/mcp", json=body, headers=headers | bearer(without))
    assert (refused.status_code, extract_scope_from_www_auth(refused)) == (403, scope(wanted))
    assert extract_field_from_www_auth(refused, "error") == "insufficient_scope"
    answer = await http.post("/mcp", json=body, headers=headers | bearer(granted))
    assert "result" in answer.json(), answer.text
    body, headers = in_2026(message(method, params), **{"com.mangaassist/userToken": without})
    error = (await http.post("/mcp", json=body, headers=headers | bearer(issuer.agents_token()))).json()["error"]
    assert (error["code"], error["data"]["name"]) == (-32602, "FORBIDDEN")


async def test_resource_without_a_scope_is_readable_by_every_bearer(http: httpx.AsyncClient, issuer: Issuer) -> None:
    own = bearer(issuer.token("demo-user-1", "check_inventory"))
    for uri in ("manga://titles/manga-001001", "manga://policies/returns"):
        body, headers = in_2026(message("resources/read", {"uri": uri}))
        assert (await http.post("/mcp", json=body, headers=headers | own)).json()["result"]["cacheScope"] == "public"


@cases("path", ["/mcp", "/sse"])
async def test_official_client_discovers_the_issuer_from_the_refusal(path: str, believing: Serving, issuer: Issuer) -> None:
    """Its own code needs the refusal alone, and accepts the metadata for the address it called."""
    async with create_mcp_http_client() as http:
        refused = await http.post(believing.url + path, json=INITIALIZE, headers=ACCEPT)
        if path == "/sse":
            refused = await http.get(believing.url + path, headers=ACCEPT)
        told = extract_resource_metadata_from_www_auth(refused)
        first, *_ = build_protected_resource_metadata_discovery_urls(told, believing.url + path)
        found = await handle_protected_resource_response(await http.get(first))
        guessed = build_protected_resource_metadata_discovery_urls(None, believing.url + path)
        assert all([(await http.get(url)).status_code == 200 for url in guessed])
    assert found is not None
    assert check_resource_allowed(believing.url + path, str(found.resource))
    assert [str(each).rstrip("/") for each in found.authorization_servers] == [issuer.name]
    assert extract_scope_from_www_auth(refused) == scope(*ALL_SCOPES)


async def test_server_without_an_issuer_has_no_metadata(server: Serving) -> None:
    async with httpx.AsyncClient(base_url=server.url) as http:
        assert (await http.get(METADATA)).status_code == 404


async def test_probes_and_metrics_need_no_token(http: httpx.AsyncClient) -> None:
    """Orchestrators have no token."""
    for path in ("/healthz", "/readyz", "/metrics"):
        assert (await http.get(path)).status_code == 200


async def test_two_principals_never_share_a_stream(http: httpx.AsyncClient, issuer: Issuer) -> None:
    """Another user, another client and the agent get 404, as for a missing stream. A refreshed token is accepted."""
    list_ = message("tools/list", {})
    async with opened_stream(http, bearer(issuer.token("demo-user-1"))) as messages:
        for other in (
            issuer.token("demo-user-2"),
            issuer.token("demo-user-1", client_id="another-app"),
            issuer.agents_token(),
        ):
            assert (await http.post(messages, json=list_, headers=bearer(other))).status_code == 404
        refreshed = issuer.token("demo-user-1", "lookup_order", key=issuer.keys[1])
        assert (await http.post(messages, json=list_, headers=bearer(refreshed))).status_code == 202


async def test_session_of_2025_belongs_to_its_principal(http: httpx.AsyncClient, issuer: Issuer) -> None:
    """Streamable HTTP follows the same rule."""
    opened = await http.post("/mcp", json=INITIALIZE, headers=ACCEPT | bearer(issuer.token("demo-user-1")))
    session = ACCEPT | {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": VERSION_2025}
    for method in ("POST", "GET", "DELETE"):
        other = await http.request(
            method, "/mcp", json=message("ping"), headers=session | bearer(issuer.token("demo-user-2"))
        )
        assert other.status_code == 404
    refreshed = issuer.token("demo-user-1", "lookup_order")
    assert (await http.post("/mcp", json=message("ping"), headers=session | bearer(refreshed))).status_code == 200


async def test_expired_token_on_an_open_stream_is_refused(http: httpx.AsyncClient, issuer: Issuer) -> None:
    """Every POST is checked. The stream stays open for a refreshed token, as it sends requested answers only."""
    list_ = message("tools/list", {})
    ending = issuer.token("demo-user-1", exp=time.time() - LEEWAY + SOME_SECONDS)
    async with opened_stream(http, bearer(ending)) as messages:
        assert (await http.post(messages, json=list_, headers=bearer(ending))).status_code == 202

        async def refused() -> bool:
            return (await http.post(messages, json=list_, headers=bearer(ending))).status_code == 401

        await until(refused, 30, "the expired token is refused")
        assert (await http.post(messages, json=list_, headers=bearer(issuer.token("demo-user-1")))).status_code == 202


@pytest.mark.slow  # waits for a token's end
async def test_websocket_is_closed_when_its_token_expires(behind_proxy: Serving, issuer: Issuer) -> None:
    """It cannot present another token, so it closes with 1008, and reopening with the old one gets 401."""
    ending = bearer(issuer.token("demo-user-1", exp=time.time() - LEEWAY + SOME_SECONDS))
    async with websocket(behind_proxy.port, **ending) as client:
        await client.introduced()
        assert await client.closed() == 1008
    with pytest.raises(Refused) as refused:
        async with websocket(behind_proxy.port, **ending):
            pass
    assert refused.value.status == 401


async def test_session_is_deleted_by_its_user_only(http: httpx.AsyncClient, issuer: Issuer, session: str) -> None:
    """A logout needs the user's own token. The agent's token has no user, and may state none."""
    users = bearer(issuer.token("demo-user-1"))
    body, headers = in_2026(call("search_manga_catalog", {"query": "school", "max_results": 1}))
    check, check_headers = in_2026(call("check_inventory", {}))
    named = {"X-Session-ID": session}
    assert not (await http.post("/mcp", json=body, headers=headers | users | named)).json()["result"]["isError"]
    stated = bearer(issuer.agents_token()) | {"X-User-ID": "demo-user-1"}
    assert (await http.delete(f"/sessions/{session}", headers=stated)).status_code == 403
    for other in (issuer.agents_token(), issuer.token("demo-user-2")):
        assert (await http.delete(f"/sessions/{session}", headers=bearer(other))).status_code == 204
    kept = await http.post("/mcp", json=check, headers=check_headers | users | named)
    assert not kept.json()["result"]["isError"]
    assert (await http.delete(f"/sessions/{session}", headers=users)).status_code == 204
    forgotten = await http.post("/mcp", json=check, headers=check_headers | users | named)
    assert forgotten.json()["result"]["isError"]


async def test_no_token_is_ever_logged(
    fresh: Connections, http: httpx.AsyncClient, believing: Serving, issuer: Issuer
) -> None:
    """Valid and invalid ones, in the header or in `_meta`, whole or as a signature, are not in the log."""
    agents, users, wrong = issuer.agents_token(), issuer.token("demo-user-1"), issuer.token(aud="x")
    client = fresh.open("sse-2025", believing.url, bearer(agents))
    await client.call("lookup_order", ORDER, userToken=users)
    await client.call("lookup_order", ORDER, userToken=wrong)
    await http.get("/sse", headers=bearer(wrong))
    await http.post("/mcp", content=b'{"broken": "' + wrong.encode(), headers=ACCEPT | bearer(agents))
    assert "lookup_order" in believing.log, "failed calls are logged"
    for token in (agents, users, wrong):
        assert token.rpartition(".")[2] not in believing.log


@cases("header", ["X-User-ID", "Authorization"])
async def test_contradictory_identity_headers_are_refused(
    header: str, http: httpx.AsyncClient, server: Serving, issuer: Issuer
) -> None:
    """This holds in any order and for any caller; two equal headers count as one."""
    body, headers = in_2026(call("get_manga_details", {"title_id": "manga-001001"}))
    token = f"Bearer {issuer.token('demo-user-1')}"
    first, second = {"X-User-ID": ("demo-user-1", "demo-user-2"), "Authorization": (token, "Bearer x")}[header]
    own = {} if header == "Authorization" else {"Authorization": token}
    for url in (str(http.base_url), server.url):
        for values, status in (((first, second), 400), ((second, first), 400), ((first, first), 200)):
            sent = [*(headers | own).items(), *((header, value) for value in values)]
            async with httpx.AsyncClient(base_url=url) as client:
                answer = await client.post("/mcp", json=body, headers=sent)
            assert answer.status_code == status, answer.text
            assert status == 200 or header.lower() in answer.text


async def test_keys_rotate_without_a_restart_and_outlive_the_issuer(serve: Callable[..., Serving]) -> None:
    """A token signed with a new key is accepted at once; the keys stay valid when the issuer is gone."""
    with issuing() as issuer:
        serving = serve(**issuer.settings)
        old = issuer.token("demo-user-1")
        assert await status(serving, old) == 200
        issuer.keys = [SigningKey.ec("next"), *issuer.keys]
        assert await status(serving, issuer.token("demo-user-1")) == 200
        assert issuer.asked == 2
        issuer.behaves = kinds.GARBAGE
        assert await status(serving, issuer.token("demo-user-1", key=SigningKey.rsa("unknown"))) == 401
    assert await status(serving, issuer.token("demo-user-2")) == 200, "the issuer is gone"
    assert await status(serving, old) == 200


async def test_server_starts_while_the_issuer_is_away(serve: Callable[..., Serving]) -> None:
    """Calls are told to retry, and are served once the issuer is there."""
    issuer = Issuer()
    with issuing(issuer=issuer):
        port = int(issuer.name.rpartition(":")[2])
    serving = serve(**issuer.settings)
    async with httpx.AsyncClient(base_url=serving.url, timeout=30) as http:
        body, headers = in_2026(message("tools/list", {}))
        answer = await http.post("/mcp", json=body, headers=headers | bearer(issuer.token()))
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        assert (await http.post("/mcp", json=body, headers=headers)).status_code == 401, "no token stays no token"
        assert (await http.get("/readyz")).status_code == 200
    assert "no caller can be admitted" in serving.log
    with issuing(port, issuer):

        async def served() -> bool:
            return await status(serving, issuer.token()) == 200

        await until(served, 30, "the issuer's keys are there")


async def status(serving: Serving, token: str) -> int:
    body, headers = in_2026(message("tools/list", {}))
    async with httpx.AsyncClient(base_url=serving.url, timeout=30) as http:
        return (await http.post("/mcp", json=body, headers=headers | bearer(token))).status_code


@asynccontextmanager
async def opened_stream(http: httpx.AsyncClient, headers: dict[str, Any]) -> AsyncIterator[str]:
    """An SSE stream by hand; gives the address for its messages."""
    async with http.stream("GET", "/sse", headers=headers) as stream:
        assert stream.status_code == 200
        async for line in stream.aiter_lines():
            if line.startswith("data: "):
                yield line.removeprefix("data: ")
                return
        raise AssertionError("no endpoint event came")
