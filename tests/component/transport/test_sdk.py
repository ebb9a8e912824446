"""Undocumented behaviour of the SDK that the server relies on: an upgrade that changes it fails here."""

from __future__ import annotations

import asyncio
import contextvars
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.message import SessionMessage
from starlette.types import Receive, Scope, Send

from server.config.settings import Settings
from server.transport.http.streams import Incoming, Outgoing
from server.wiring import open_app
from tests.support.raw import BOTH, INITIALIZE, INITIALIZED, VERSION_2025, call, in_2026, message

URL = "http://127.0.0.1/mcp"
IDLE_SECONDS = 600.0
WAIT_SECONDS = 30.0


@asynccontextmanager
async def managed(server: Server[Any]) -> AsyncIterator[tuple[StreamableHTTPSessionManager, httpx.AsyncClient]]:
    """The SDK's sessions of Streamable HTTP, and a client whose every request is proven to be the same agent's."""
    manager = StreamableHTTPSessionManager(server, session_idle_timeout=IDLE_SECONDS)
    user = AuthenticatedUser(AccessToken(token="", client_id="agent", scopes=[]))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await manager.handle_request({**scope, "user": user}, receive, send)

    async with manager.run(), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:  # type: ignore[arg-type]
        yield manager, client


async def opened(client: httpx.AsyncClient) -> dict[str, str]:
    """The headers of a new session's requests."""
    answer = await client.post(URL, json=INITIALIZE, headers=BOTH)
    assert answer.status_code == 200
    return {**BOTH, "mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not true():
            await asyncio.sleep(0)


async def test_sdk_manager_keeps_sessions_by_id_with_an_idle_deadline() -> None:
    """It ends an idle session after its timeout and forgets it."""
    async with managed(Server("it")) as (manager, client):
        name = (await opened(client))["mcp-session-id"]
        (kept,) = manager._server_instances
        idle = manager._server_instances[name].idle_scope
        assert kept == name
        assert idle is not None
        assert 0 < idle.deadline - anyio.current_time() <= IDLE_SECONDS
        idle.cancel()
        await until(lambda: not manager._server_instances)


async def test_session_with_a_request_under_way_has_no_idle_deadline() -> None:
    """The deadline is then infinite, so the session never ends during a request."""
    answers, seen = asyncio.Event(), asyncio.Event()

    async def wait(ctx: Any, params: Any) -> dict[str, Any]:
        seen.set()
        await answers.wait()
        return {"tools": []}

    server: Server[Any] = Server("it")
    server.add_request_handler("tools/list", types.PaginatedRequestParams, wait)
    async with managed(server) as (manager, client):
        headers = await opened(client)
        asking = asyncio.create_task(client.post(URL, json=message("tools/list"), headers=headers))
        await asyncio.wait_for(seen.wait(), WAIT_SECONDS)
        (transport,) = manager._server_instances.values()
        assert transport.idle_scope is not None
        assert transport.idle_scope.deadline == math.inf
        answers.set()
        assert '"tools":[]' in (await asking).text
        assert transport.idle_scope.deadline < math.inf


async def test_session_ended_by_its_client_leaves_nothing_in_the_sdk() -> None:
    """Before mcp 2.2 its state stayed for ever (CVE-2026-59951)."""
    async with managed(Server("it")) as (manager, client):
        for _ in range(3):
            headers = await opened(client)
            assert manager._session_owners.keys() == manager._server_instances.keys() == {headers["mcp-session-id"]}
            await client.delete(URL, headers=headers)
            assert manager._session_owners == manager._server_instances == {}


async def test_sdk_session_gives_access_to_its_connection() -> None:
    """The connection outlives the request and carries notifications of changed tools."""
    heard: list[Any] = []

    async def initialized(ctx: Any, params: Any) -> None:
        heard.append(ctx.session._connection)

    server: Server[Any] = Server("it")
    server.add_notification_handler("notifications/initialized", types.NotificationParams, initialized)
    async with managed(server) as (_, client):
        assert (await client.post(URL, json=INITIALIZED, headers=await opened(client))).status_code == 202
        await until(lambda: bool(heard))
    assert isinstance(heard[0], Connection)
    assert callable(heard[0].notify)


def test_opentelemetry_is_the_only_default_middleware_of_the_sdk() -> None:
    """The server clears the list, so a second middleware would be lost unnoticed."""
    assert [type(each).__name__ for each in Server[Any]("it").middleware] == ["OpenTelemetryMiddleware"]


async def test_message_is_handled_in_the_context_of_its_stream() -> None:
    """The SDK reads `last_context` of whatever stream it is given; and a handler may answer a plain dict."""
    said: contextvars.ContextVar[str] = contextvars.ContextVar("said", default="nothing")
    heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def list_tools(ctx: Any, params: Any) -> dict[str, Any]:
        heard.set_result(said.get())
        return {"tools": []}

    server: Server[Any] = Server("it")
    server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    answered = bytearray()

    async def send(part: Any) -> None:
        answered.extend(part.get("body", b""))

    incoming, outgoing = Incoming(), Outgoing(send)
    running = asyncio.create_task(server.run(incoming, outgoing, server.create_initialization_options()))
    for each, word in ((INITIALIZE, "first"), (INITIALIZED, "second"), (message("tools/list", number=2), "third")):
        said.set(word)
        incoming.put(SessionMessage(types.jsonrpc_message_adapter.validate_python(each, by_name=False)))
    assert await asyncio.wait_for(heard, WAIT_SECONDS) == "third"
    await until(lambda: b'"tools":[]' in answered)
    incoming.end()
    await asyncio.wait_for(running, WAIT_SECONDS)


async def test_a_call_without_a_session_lists_no_tools(tmp_path: Path) -> None:
    """The SDK wants the schema of the tool that is called, and would otherwise run the whole tools/list before each call."""
    async with open_app(Settings(embedder="none", data_dir=tmp_path), local=True) as app:
        listed: list[Any] = []

        async def list_tools(ctx: Any, params: Any) -> dict[str, Any]:
            listed.append(params)
            return {"tools": []}

        server = app.protocol.mcp
        server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
        async with managed(server) as (_, client):
            body, headers = in_2026(call("get_manga_details", {"title_id": "manga-001001"}))
            result = (await client.post(URL, json=body, headers=headers)).json()["result"]
        assert result["structuredContent"]["title_id"] == "manga-001001"
        assert listed == []
        assert server.get_tool_input_schema is not None
        assert server.get_tool_input_schema("no such tool") is None
