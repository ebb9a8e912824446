"""/mcp as an ASGI application, with clients that a socket cannot play, such as one that reads no answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import pytest
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel.server import Server
from prometheus_client import Gauge

from server.transport.http.bodies import Admission, Bodies
from server.transport.http.responses import ENDED
from server.transport.http.slots import Subscriptions
from server.transport.http.sse import SseStreams
from server.transport.http.streamable import IDLE_SECONDS, UNUSED_SECONDS, McpEndpoint, Sessions
from server.transport.messages import LONGEST_NAME
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.raw import BOTH, INITIALIZE, VERSION_2025, call, message

MOST_BYTES = 4096


@dataclass
class Edge:
    """What serves; calls of the tool `wait` last until `go_on` is set, and `who` says what is known of its client."""

    endpoint: McpEndpoint
    clock: HandClock
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def serving(most: int = 100) -> AsyncIterator[Edge]:
    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == "wait":
            edge.waiting.set()
            await edge.go_on.wait()
        return types.CallToolResult(content=[types.TextContent(text=ctx.session.client_params.model_dump_json())])

    server: Server[Any] = Server("edge", on_call_tool=call_tool)
    clock = HandClock()
    streams = SseStreams(server, 1, Bodies(MOST_BYTES), Admission(Subscriptions()), Gauge("s", "s", registry=None))
    own = McpEndpoint(streams, MOST_BYTES)
    own.sessions = Sessions(own.manager.handle_request, most, clock)
    edge = Edge(own, clock)
    async with own.manager.run():
        yield edge
        edge.go_on.set()
        await own.sessions.close_all()


class Client:
    """Asks once. `takes` is set for a client that takes what it is sent."""

    def __init__(
        self,
        edge: Edge,
        body: bytes,
        headers: dict[str, str] | None = None,
        method: str = "POST",
        principal: str | None = None,
    ) -> None:
        self._endpoint = edge.endpoint
        self._body = body
        self._method = method
        self.principal = principal
        self.content = b""
        self._headers = {**BOTH, "host": "127.0.0.1", **(headers or {})}
        self.takes = asyncio.Event()
        self.was_sent = asyncio.Event()
        self.status = 0
        self.headers: dict[str, str] = {}

    async def ask(self) -> int:
        headers = [(name.encode(), value.encode()) for name, value in self._headers.items()]
        where = {"path": "/mcp", "query_string": b"", "client": None}
        scope: dict[str, Any] = {"type": "http", "method": self._method, "headers": headers, **where}
        if self.principal is not None:
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=self.principal, scopes=[]))
        async with asyncio.timeout(30):
            await self._endpoint(scope, self._receive, self._send)
        return self.status

    async def _receive(self) -> Any:
        body, self._body = self._body, b""
        if not body:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": body, "more_body": False}

    async def _send(self, part: Any) -> None:
        self.was_sent.set()
        await self.takes.wait()
        if part["type"] == "http.response.start":
            self.status = part["status"]
            self.headers = {name.decode(): value.decode() for name, value in part["headers"]}
        else:
            self.content += part.get("body", b"")


def opening(edge: Edge, principal: str | None = None, request: dict[str, Any] = INITIALIZE) -> Client:
    client = Client(edge, json.dumps(request).encode(), principal=principal)
    client.takes.set()
    return client


def within(edge: Edge, opened: Client, request: dict[str, Any] | None, method: str = "POST") -> Client:
    """A request in a session; without a message it is a DELETE."""
    named = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
    body = b"" if request is None else json.dumps(request).encode()
    client = Client(edge, body, named, "DELETE" if request is None else method, opened.principal)
    client.takes.set()
    return client


async def in_session(edge: Edge, opened: Client) -> int:
    return await within(edge, opened, message("notifications/initialized", number=None)).ask()


async def test_client_that_reads_no_answer_does_not_block_new_sessions() -> None:
    """Each session waits for its own client."""
    async with serving() as edge:
        deaf = Client(edge, json.dumps(INITIALIZE).encode())
        asking = asyncio.create_task(deaf.ask())
        async with asyncio.timeout(30):
            await deaf.was_sent.wait()
        assert await opening(edge).ask() == 200
        deaf.takes.set()
        assert await asking == 200


async def test_longest_unused_session_yields_when_all_slots_are_taken() -> None:
    """Its client gets 404 and opens another session; a recently used session is kept."""
    async with serving(most=2) as edge:
        first, second = opening(edge), opening(edge)
        assert [await first.ask(), await second.ask()] == [200, 200]
        assert await opening(edge).ask() == 503
        edge.clock.advance(UNUSED_SECONDS)
        assert await in_session(edge, first) == 202
        newcomer = opening(edge)
        assert await newcomer.ask() == 200
        assert [await in_session(edge, each) for each in (first, second, newcomer)] == [202, 404, 202]
        assert await opening(edge).ask() == 503
        edge.clock.advance(IDLE_SECONDS)
        assert await opening(edge).ask() == 200


async def test_holder_of_every_session_yields_an_idle_one_to_another_principal() -> None:
    """It yields at once a session with no request under way."""
    async with serving(most=3) as edge:
        theirs = [opening(edge, "a") for _ in range(3)]
        for each in theirs:
            assert await each.ask() == 200
            edge.clock.advance(1)
        assert await opening(edge, "a").ask() == 503
        busy = asyncio.create_task(within(edge, theirs[0], call("wait", {})).ask())
        await edge.waiting.wait()
        newcomer = opening(edge, "b")
        assert await newcomer.ask() == 200
        assert [await in_session(edge, each) for each in (*theirs, newcomer)] == [202, 404, 202, 202]
        edge.go_on.set()
        assert await busy == 200


async def test_ended_sessions_free_their_slots_and_leave_nothing() -> None:
    """For any number of sessions neither the server nor the SDK keeps state."""
    async with serving(most=2) as edge:
        for _ in range(20):
            client = opening(edge, "a")
            assert await client.ask() == 200
            assert await within(edge, client, None).ask() == 200
            assert await in_session(edge, client) == 404
        assert len(edge.endpoint.sessions._slots) == 0
        manager = edge.endpoint.manager
        assert (manager._server_instances, manager._session_owners) == ({}, {})


async def test_delete_waits_for_requests_under_way_and_accepts_no_more(caplog: pytest.LogCaptureFixture) -> None:
    """A message that met the session's end would leave a traceback in the log and its client unanswered."""
    async with serving() as edge:
        client = opening(edge)
        await client.ask()
        waiting = within(edge, client, call("wait", {}))
        asked = asyncio.create_task(waiting.ask())
        await edge.waiting.wait()
        ending = asyncio.create_task(within(edge, client, None).ask())
        await asyncio.sleep(0)
        assert await within(edge, client, call("wait", {}, number=2)).ask() == 404
        edge.go_on.set()
        assert (await asked, await ending) == (200, 200)
        assert b'"result"' in waiting.content
        assert "Traceback" not in caplog.text


async def asked_at_the_end(edge: Edge) -> tuple[Client, asyncio.Task[int], asyncio.Task[None]]:
    """A call that is under way in a server that stops."""
    client = opening(edge)
    await client.ask()
    waiting = within(edge, client, call("wait", {}, number='the "7"'))
    asked = asyncio.create_task(waiting.ask())
    await edge.waiting.wait()
    closing = asyncio.create_task(edge.endpoint.sessions.close_all())
    await asyncio.sleep(0)
    assert await within(edge, client, call("wait", {}, number=2)).ask() == 404
    return waiting, asked, closing


async def test_request_taken_before_the_shutdown_is_answered() -> None:
    """Later requests are refused, and their client opens a session elsewhere."""
    async with serving() as edge:
        waiting, asked, closing = await asked_at_the_end(edge)
        edge.go_on.set()
        assert await asked == 200
        await closing
        assert (waiting.content.count(b"data: {"), waiting.content.count(b'"result"')) == (1, 1)


async def test_unanswered_request_gets_an_error_at_the_end_of_the_shutdown() -> None:
    """A stream that ended without any event would leave its client waiting."""
    async with serving() as edge:
        waiting, asked, closing = await asked_at_the_end(edge)
        assert await asked == 200
        await closing
        assert waiting.content.count(b"data: {") == 1
        said = json.loads(waiting.content.rpartition(b"data: ")[2])
        assert (said["id"], said["error"]["message"]) == ('the "7"', ENDED)


async def test_request_id_is_refused_while_a_request_with_it_is_under_way() -> None:
    """The SDK would answer one of the two and hold the other's connection until its client gives up."""
    async with serving() as edge:
        client = opening(edge)
        await client.ask()
        asked = asyncio.create_task(within(edge, client, call("wait", {}, number=7)).ask())
        await edge.waiting.wait()
        again = within(edge, client, call("wait", {}, number=7))
        assert await again.ask() == 400
        assert b"this id" in again.content
        other = within(edge, client, call("wait", {}, number="7"))
        also_asked = asyncio.create_task(other.ask())
        edge.go_on.set()
        assert (await asked, await also_asked) == (200, 200)
        assert b'"id":"7"' in other.content.replace(b" ", b"")
        assert await within(edge, client, call("wait", {}, number=7)).ask() == 200


async def test_last_event_id_header_gets_a_live_stream_without_replay() -> None:
    """Events are not stored, so the stream begins with the next one."""
    async with serving() as edge:
        client = opening(edge)
        await client.ask()
        named = {"mcp-session-id": client.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
        again = Client(edge, b"", {**named, "last-event-id": "7"}, "GET")
        again.takes.set()
        listening = asyncio.create_task(again.ask())
        await asyncio.wait({listening, begun := asyncio.create_task(again.was_sent.wait())}, return_when="FIRST_COMPLETED")
        assert begun.done()
        assert (again.status, again.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def test_client_name_is_kept_truncated_and_its_other_data_dropped() -> None:
    """A session keeps its opening message for half an hour; a second initialize is trimmed alike."""
    fat = {"experimental": {"x": {"y": "z" * 500}}}
    client = {"name": "n" * 500, "version": "1", "description": "d" * 500}
    introduction = message("initialize", {"protocolVersion": VERSION_2025, "capabilities": fat, "clientInfo": client})
    async with serving() as edge:
        opened = opening(edge, request=introduction)
        assert await opened.ask() == 200
        assert await within(edge, opened, introduction).ask() == 200
        who = within(edge, opened, call("who", {}, number=2))
        assert await who.ask() == 200
        assert b"n" * LONGEST_NAME in who.content
        for gone in (b"n" * (LONGEST_NAME + 1), b"zz", b"dd"):
            assert gone not in who.content


@cases("body", [b"{", b"[]", json.dumps(message("tools/list")).encode(), b"x" * (MOST_BYTES + 1)])
async def test_message_that_opens_no_session_takes_no_slot(body: bytes) -> None:
    """It is refused for its content, whether or not slots are free."""
    async with serving(most=1) as edge:
        kept = opening(edge)
        assert await kept.ask() == 200
        edge.clock.advance(IDLE_SECONDS)
        stray = Client(edge, body)
        stray.takes.set()
        assert await stray.ask() in (400, 413)
        assert await in_session(edge, kept) == 202


async def test_session_ended_by_the_sdk_is_forgotten() -> None:
    """The SDK answers 404 for a session that was idle too long."""
    async with serving(most=1) as edge:
        client = opening(edge)
        await client.ask()
        manager = edge.endpoint.manager
        (transport,) = manager._server_instances.values()
        await manager._discard_session(client.headers["mcp-session-id"], transport)
        assert len(edge.endpoint.sessions._slots) == 1
        assert await in_session(edge, client) == 404
        assert len(edge.endpoint.sessions._slots) == 0


async def test_session_that_yields_before_it_is_open_is_ended_once_open() -> None:
    """Otherwise the SDK would keep it, counted in no limit."""
    go_on, ended = asyncio.Event(), []

    async def sdk(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "DELETE":
            ended.append(dict(scope["headers"])[b"mcp-session-id"])
            return
        await go_on.wait()
        name = scope["user"].access_token.client_id.encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"mcp-session-id", name)]})

    async def unread(message: Any) -> None: ...

    sessions = Sessions(sdk, 2, HandClock())

    async def open_as(principal: str) -> None:
        user = AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[]))
        await sessions.open({"type": "http", "method": "POST", "headers": [], "user": user}, unread, unread)

    tasks = [asyncio.create_task(open_as(each)) for each in ("a", "a", "b")]
    while not ended:
        await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(*tasks)
    assert (len(sessions._slots), ended) == (2, [b"", b"a"])
