"""MCP over WebSocket: checks, limits, identity and shutdown, over real sockets and the whole application."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import mcp_types as types
import pytest
import uvicorn
from mcp.server.lowlevel.server import Server
from prometheus_client import Gauge
from wsproto.events import CloseConnection, Message

from server.config.settings import Settings
from server.identity.request_metadata import TrustStated, TrustTokens
from server.transport.http.bodies import Admission, Bodies, UnfinishedMessages
from server.transport.http.connection import Connections
from server.transport.http.slots import Subscriptions
from server.transport.websocket import connection
from server.transport.websocket import websockets as proof
from server.transport.websocket.connection import WebSocketConnection
from server.transport.websocket.websockets import WebSockets
from session.resilience.lru import Lru
from tests.support.cases import cases
from tests.support.inprocess import InProcess, in_process
from tests.support.process import until
from tests.support.websocket import SECONDS, Refused, call, request, websocket

ON = Settings(websocket=True, max_body_bytes=4096, max_sse_sessions=2)
ORDER = "MNG-DEMO1001"


async def refused(own: InProcess, **asked: object) -> Refused:
    with pytest.raises(Refused) as raised:
        async with websocket(own.port, **asked):  # type: ignore[arg-type]
            pass
    return raised.value


async def test_websocket_conversation_shares_a_session() -> None:
    """The handshake, the list, a call and a stock check of the last search use one session, the connection."""
    async with in_process(settings=ON) as served:
        async with websocket(served.port) as client:
            assert client.subprotocol == "mcp"
            await client.introduced()
            assert (await client.asked(request(1, "tools/list")))["result"]["tools"]
            found = await client.asked(call(2, "search_manga_catalog", query="one piece", max_results=1))
            assert found["result"]["structuredContent"]["results"][0]["title_id"] == "manga-001001"
            stock = await client.asked(call(3, "check_inventory"))
            assert stock["result"]["structuredContent"]["checked"] == "last_search"
        assert b'manga_answer_seconds_count{transport="websocket"} 2.0' in served.app.metrics.text_for("")[0]


async def test_user_is_taken_from_the_upgrade_and_must_not_differ_in_a_call() -> None:
    """A call that states another user is refused."""
    async with in_process(settings=ON) as served, websocket(served.port, X_User_ID="demo-user-1") as client:
        await client.introduced()
        order = await client.asked(call(1, "lookup_order", order_id=ORDER))
        assert order["result"]["structuredContent"]["order_id"] == ORDER
        other = call(2, "lookup_order", order_id=ORDER)
        other["params"]["_meta"] = {"com.mangaassist/userId": "demo-user-2"}
        assert (await client.asked(other))["result"]["structuredContent"]["error"]["name"] == "FORBIDDEN"


async def test_upgrade_passes_the_same_checks_as_http() -> None:
    """A foreign Host or Origin, another subprotocol or path, and a too long head are refused."""
    async with in_process(settings=ON) as served:
        assert (await refused(served, host="evil.example")).status == 421
        assert (await refused(served, Origin="https://evil.example")).status == 403
        assert (await refused(served, subprotocols=("soap",))).status == 400
        assert (await refused(served, subprotocols=())).status == 400
        assert (await refused(served, path="/sse")).status == 404
        assert (await refused(served, X_Long="x" * 17_000)).status == 431
        assert b'manga_refusals_total{kind="http_421"} 1.0' in served.app.metrics.text_for("")[0]


async def test_request_without_an_upgrade_gets_426() -> None:
    async with in_process(settings=ON) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(b"GET /ws HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 426 " in await asyncio.wait_for(reader.readline(), SECONDS)
        writer.close()


async def test_disabled_websocket_answers_404_and_is_not_imported() -> None:
    """Without WebSockets an upgrade is an ordinary GET."""
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("server.transport.websocket.conn")}
    try:
        async with in_process(settings=replace(ON, websocket=False)) as own:
            assert (await refused(own)).status == 404
            assert "server.transport.websocket.connection" not in sys.modules
    finally:
        sys.modules.update(kept)


async def test_upgrade_without_a_bearer_gets_401() -> None:
    """Calls are made by the principal that the bearer proves."""
    secret = "s" * 32
    async with in_process(settings=replace(ON, auth="token", auth_tokens=(secret,))) as own:
        answer = await refused(own)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
        async with websocket(own.port, Authorization=f"Bearer {secret}") as client:
            await client.introduced()
            assert "result" in await client.asked(request(1, "tools/list"))


@cases("says", [False, True], ids=["silent", "that says something"])
async def test_websocket_is_closed_when_its_bearer_becomes_invalid(says: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A WebSocket cannot present another bearer. Earlier requests are answered."""
    monkeypatch.setattr(proof, "RECHECK_SECONDS", 3600.0 if says else 0.01)
    secret = "s" * 32
    async with in_process(settings=replace(ON, auth="token", auth_tokens=(secret,))) as own:
        async with websocket(own.port, Authorization=f"Bearer {secret}") as client:
            await client.introduced()
            assert (await client.asked(request(1, "ping")))["result"] == {}
            assert isinstance(own.app.identifier, TrustTokens)
            own.app.identifier._tokens = (b"t" * 32,)  # as its file would change them
            if says:
                client.say(request(2, "tools/list"))
            assert await client.closed() == 1008
        assert (await refused(own, Authorization=f"Bearer {secret}")).status == 401


async def test_websocket_beyond_the_limit_gets_503_until_one_ends() -> None:
    """The freed slot is used again."""
    async with in_process(settings=ON) as served, websocket(served.port) as first:
        async with websocket(served.port) as second:
            await first.introduced()
            await second.introduced()
            full = await refused(served)
            assert (full.status, full.headers["retry-after"]) == (503, "1")
            assert b"manga_websockets 2.0" in served.app.metrics.text_for("")[0]
            second.write(CloseConnection(1000))
            assert await second.closed() == 1000
        await until(lambda: b"manga_websockets 1.0" in served.app.metrics.text_for("")[0], 30, "the end of the second")
        async with websocket(served.port) as third:
            await third.introduced()


async def test_anonymous_client_with_every_websocket_yields_one_to_a_customer() -> None:
    """All clients on this host are one holder, whose slots are shared fairly among the customers that they state."""
    async with in_process(settings=ON) as served, websocket(served.port) as first, websocket(served.port) as second:
        for each in (first, second):
            await each.introduced()
        async with websocket(served.port, X_User_ID="demo-user-1") as customer:
            await customer.introduced()
            assert await first.closed() == 1001
            assert (await second.asked(request(1, "ping")))["id"] == 1
            assert (await refused(served)).status == 503


async def test_malformed_message_is_answered_with_an_error_and_the_next_one_served() -> None:
    """The error has the message's id where it has one."""
    async with in_process(settings=ON) as served, websocket(served.port) as client:
        await client.introduced()
        assert (await client.asked("{"))["error"]["code"] == -32600
        wrong = await client.asked({"jsonrpc": "1.0", "id": 7, "method": "ping"})
        assert (wrong["id"], wrong["error"]["code"]) == (7, -32600)
        deep = await client.asked(json.dumps(call(8, "check_inventory")).replace("{}", "[" * 99 + "]" * 99))
        assert deep["id"] == 8
        assert deep["error"]["message"].startswith("A message is nested at most")
        assert (await client.asked(request(9, "ping")))["result"] == {}


async def test_oversized_message_closes_with_1009_and_a_binary_one_with_1003() -> None:
    """No more than the limit is buffered."""
    async with in_process(settings=ON) as served:
        async with websocket(served.port) as client:
            await client.introduced()
            client.say("x" * 5000)
            assert await client.closed() == 1009
        async with websocket(served.port) as client:
            client.say(b"bytes")
            assert await client.closed() == 1003


async def test_message_of_too_many_fragments_closes_the_websocket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fragments are read at a hundred a second at most: with the shipped bound it takes half a minute."""
    monkeypatch.setattr(connection, "MOST_PIECES", 500)
    async with in_process(settings=ON) as served, websocket(served.port) as client:
        for _ in range(501):
            client.write(Message("", message_finished=False))
        assert await client.closed() == 1008


async def test_unfinished_messages_share_a_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "TOTAL_FACTOR", 1)
    async with in_process(settings=ON) as own, websocket(own.port) as client:
        client.write(Message("x" * 3000, message_finished=False))
        assert await client.closed() == 1013


@dataclass
class Waiting:
    """A server behind the edge whose one tool waits for ever, and tells so."""

    port: int = 0
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    async def call_tool(self, ctx: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        raise AssertionError


@asynccontextmanager
async def waiting_edge() -> AsyncIterator[Waiting]:
    own = Waiting()
    server: Server[object] = Server("edge", on_call_tool=own.call_tool)
    gauge = Gauge("sockets", "Open.", registry=None)
    admission, proving = Admission(Subscriptions()), TrustStated().admit
    sockets = WebSockets(server, 9, Bodies(4096), admission, gauge, admit_bearer=proving, most_bytes=4096)
    upgraded = partial(
        WebSocketConnection, all_connections=Connections(9), unfinished=UnfinishedMessages(4096), buckets=Lru(9)
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own.port = listener.getsockname()[1]
        http = uvicorn.Server(uvicorn.Config(sockets.wrap(sockets), ws=upgraded, lifespan="off", log_level="error"))
        http.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.create_task(http.serve([listener]))
        try:
            yield own
        finally:
            await sockets.close_all()
            http.should_exit = True
            await asyncio.wait_for(task, SECONDS)


@cases("politely", [True, False])
async def test_client_disconnect_cancels_its_calls(politely: bool) -> None:
    """The client sends a close frame, or none as when it is killed."""
    async with waiting_edge() as own, websocket(own.port) as client:
        await client.introduced()
        client.say(call(1, "wait"))
        await asyncio.wait_for(own.begun.wait(), SECONDS)
        assert not own.cancelled.is_set()
        if politely:
            client.write(CloseConnection(1000))
        else:
            client.writer.transport.abort()
        await asyncio.wait_for(own.cancelled.wait(), SECONDS)


async def test_call_is_cancelled_by_a_notification() -> None:
    """Its request id is free again."""
    async with waiting_edge() as own, websocket(own.port) as client:
        await client.introduced()
        client.say(call(1, "wait"))
        await asyncio.wait_for(own.begun.wait(), SECONDS)
        client.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        await asyncio.wait_for(own.cancelled.wait(), SECONDS)
        assert (await client.asked(request(1, "ping")))["result"] == {}


async def test_request_id_in_use_is_refused_with_a_null_id() -> None:
    """The id itself belongs to the answer of the first request."""
    async with waiting_edge() as own, websocket(own.port) as client:
        await client.introduced()
        client.say(call(1, "wait"))
        clash = await client.asked(request(1, "ping"))
        assert (clash["id"], clash["error"]["code"]) == (None, -32600)
        assert (await client.asked(request("1", "ping")))["id"] == "1"


async def test_server_shutdown_closes_with_1001_and_refuses_upgrades() -> None:
    """No further client can connect."""
    async with in_process(settings=ON) as served:
        async with websocket(served.port) as client:
            await client.introduced()
            await served.http.addons[-1].close_all()
            assert await client.closed() == 1001
        assert (await refused(served)).status == 503


async def test_batch_is_served_only_in_versions_with_batches() -> None:
    async with in_process(settings=ON) as served:
        async with websocket(served.port) as client:
            await client.introduced("2025-03-26")
            client.say([request(1, "ping"), request(2, "ping"), {"jsonrpc": "2.0", "id": 3}])
            answers = {answer["id"]: answer for answer in [await client.heard() for _ in range(3)]}
            assert answers[1]["result"] == answers[2]["result"] == {}
            assert answers[3]["error"]["code"] == -32600
        async with websocket(served.port) as client:
            await client.introduced("2025-06-18")
            assert (await client.asked([request(1, "ping")]))["error"]["code"] == -32600
