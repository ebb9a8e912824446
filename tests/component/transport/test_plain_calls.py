"""Plain calls of the 2026 era, past the SDK's dispatcher, behave like those through it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from server.transport import mcp
from server.transport.http import direct_calls as plain_calls
from server.transport.http.direct_calls import DirectTools, serve_plain_request
from server.transport.messages import Posted
from tests.support.cases import cases
from tests.support.inprocess import in_process
from tests.support.raw import Connection, call, in_2026, message
from tools import lookup_order

SEARCH = call("search_manga_catalog", {"query": "one piece", "max_results": 2})
CASES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "a search": in_2026(SEARCH),
    "an id that is text": in_2026({**SEARCH, "id": "eins"}),
    "the list of the tools": in_2026(message("tools/list")),
    "no arguments": in_2026(call("search_manga_catalog", {})),
    "wrong arguments": in_2026(call("search_manga_catalog", {"query": 5})),
    "what is not there": in_2026(call("get_manga_details", {"title_id": "nothing"})),
    "nobody's order": in_2026(call("lookup_order", {"order_id": "1"})),
    "a level for its log": in_2026(SEARCH, **{"io.modelcontextprotocol/logLevel": "debug"}),
    "a token for progress": in_2026(SEARCH, progressToken=7),
    "no name of its own": in_2026(SEARCH, **{"io.modelcontextprotocol/clientInfo": None}),
}
REFUSED: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "a tool that never was": in_2026(call("no_tool", {})),
    "no capabilities": in_2026(SEARCH, **{"io.modelcontextprotocol/clientCapabilities": 5}),
    "a token that is none": in_2026(SEARCH, progressToken=1.5),
    "another version within": in_2026(SEARCH, **{"io.modelcontextprotocol/protocolVersion": "2027-01-01"}),
    "another name within": (in_2026(SEARCH)[0], in_2026(call("lookup_order", {}))[1]),
    "no method in its headers": (in_2026(SEARCH)[0], {**in_2026(SEARCH)[1], "mcp-method": ""}),
    "only JSON": (in_2026(SEARCH)[0], {**in_2026(SEARCH)[1], "accept": "application/json"}),
    "text": (in_2026(SEARCH)[0], {**in_2026(SEARCH)[1], "content-type": "text/plain"}),
    "a form": (in_2026(SEARCH)[0], {**in_2026(SEARCH)[1], "content-type": "application/x-www-form-urlencoded"}),
    "no type": (in_2026(SEARCH)[0], {**in_2026(SEARCH)[1], "content-type": ""}),
    "arguments that are none": in_2026(call("search_manga_catalog", [])),
    "more parameters": in_2026({**SEARCH, "params": {**SEARCH["params"], "inputResponses": 5}}),
    "another JSON-RPC": in_2026({**SEARCH, "jsonrpc": "3.0"}),
    "no id that there is": in_2026({**SEARCH, "id": 1.5}),
}
OTHER_EACH_TIME = {"callId", "request_id", "latencyMs", "remainingMs"}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows with every call that takes the short way."""
    taken: list[object] = []
    respond = DirectTools.respond

    async def noted(own: DirectTools, *rest: Any) -> tuple[int, bytes, bytes]:
        taken.append(rest)
        return await respond(own, *rest)

    monkeypatch.setattr(DirectTools, "respond", noted)
    return taken


@cases("case", [*CASES, *REFUSED])
async def test_direct_and_sdk_path_give_the_same_answer(case: str, short: list[object]) -> None:
    """An unknown member of the message makes a call take the SDK's path."""
    body, headers = (CASES | REFUSED)[case]
    async with in_process() as own, Connection.to(own.port) as client:
        await client.request("POST", "/mcp", *in_2026(SEARCH))
        before = len(short)
        quick = await client.request("POST", "/mcp", json.dumps(body).encode(), headers)
        assert len(short) == before + (case in CASES)
        slow = await client.request("POST", "/mcp", json.dumps({**body, "unknown": 1}).encode(), headers)
        assert len(short) == before + (case in CASES)
    assert (quick.status, quick.headers.get("content-type")) == (slow.status, slow.headers.get("content-type"))
    assert quick.body == slow.body or same(quick.json()) == same(slow.json())


def same(value: Any) -> Any:
    """Without what is another for each call, in the text of a failure as well."""
    if isinstance(value, str) and value.startswith("{"):
        return same(json.loads(value))
    if isinstance(value, dict):
        return {name: same(each) for name, each in value.items() if name not in OTHER_EACH_TIME}
    return [same(each) for each in value] if isinstance(value, list) else value


async def test_result_that_cannot_be_serialized_is_an_internal_error_without_details(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_result(*_: object) -> bytes:
        raise ValueError("secret")

    monkeypatch.setattr(mcp, "serialize_result", no_result)
    async with in_process() as own, Connection.to(own.port) as client:
        answer = await client.request("POST", "/mcp", *in_2026(SEARCH))
    assert answer.json()["error"] == {"code": types.INTERNAL_ERROR, "message": "Internal server error"}


class Exchange:
    """One request to `serve_plain_request` alone, whose tool does what its arguments say."""

    def __init__(self, params: dict[str, Any], **more: object) -> None:
        body, headers = in_2026(call("tell", params), **more)
        self._body = json.dumps(body).encode()
        named = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": named, "query_string": b""}
        self.parts: list[Any] = []
        self.begun, self.gone, self.go = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.cancelled = False
        self.when_cancelled: Callable[[], object] = bool

    async def run(self, *, asks: bool = False) -> bool:
        tools = DirectTools(
            self._called, {"tell": replace(lookup_order.TOOL, input_schema={"type": "object"}, asks=asks)}.get
        )
        posted = Posted.from_body(self._body)
        assert posted is not None
        async with asyncio.timeout(30):
            return await serve_plain_request(tools, posted, self._scope, self._receive, self._send)

    @property
    def status(self) -> int:
        return int(self.parts[0]["status"])

    @property
    def said(self) -> bytes:
        return b"".join(each.get("body", b"") for each in self.parts)

    async def _receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, part: Any) -> None:
        self.parts.append(part)

    async def _called(self, ctx: Any, params: Mapping[str, Any]) -> bytes:
        arguments = params["arguments"]
        self.begun.set()
        if arguments.get("told"):
            await ctx.session.report_progress(1, 2, "on it")
        if arguments.get("wrong"):
            raise MCPError(types.INVALID_PARAMS, "no")
        if arguments.get("wait"):
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.cancelled = True
                self.when_cancelled()
                await asyncio.sleep(0)
                raise
        return b'{"content":[]}'


async def test_answer_without_notifications_is_plain_json() -> None:
    own = Exchange({"told": True})  # nobody asked for it
    assert await own.run()
    assert json.loads(own.said) == {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
    assert (own.status, dict(own.parts[0]["headers"])[b"content-type"]) == (200, b"application/json")


async def test_answer_after_a_notification_is_an_event_stream() -> None:
    own = Exchange({"told": True}, progressToken="t")  # noqa: S106
    assert await own.run()
    told, answer = (json.loads(each[6:]) for each in own.said.splitlines() if each.startswith(b"data: "))
    params = {"progressToken": "t", "progress": 1, "total": 2, "message": "on it"}
    assert told == {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    assert answer["result"] == {"content": []}
    assert dict(own.parts[0]["headers"])[b"content-type"].startswith(b"text/event-stream")


async def test_protocol_error_has_its_http_status() -> None:
    own = Exchange({"wrong": True})
    assert await own.run()
    assert (own.status, json.loads(own.said)["error"]) == (400, {"code": types.INVALID_PARAMS, "message": "no"})


async def test_call_is_cancelled_with_its_connection() -> None:
    """Clients of this era cancel by closing; no answer is sent."""
    own = Exchange({"wait": True})
    running = asyncio.create_task(own.run())
    await asyncio.wait_for(own.begun.wait(), 30)
    own.gone.set()
    assert await running
    assert own.cancelled
    assert own.parts == []


async def test_cancelling_the_request_task_raises_cancelled_error() -> None:
    own = Exchange({"wait": True})
    running = asyncio.create_task(own.run())
    await asyncio.wait_for(own.begun.wait(), 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert own.cancelled
    assert [each for each in asyncio.all_tasks() if each.get_name() == "gone" and not each.cancelling()] == []


async def test_server_shutdown_during_a_client_disconnect_raises_cancelled_error() -> None:
    own = Exchange({"wait": True})
    running = asyncio.create_task(own.run())
    own.when_cancelled = running.cancel
    await asyncio.wait_for(own.begun.wait(), 30)
    own.gone.set()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_silent_call_sends_ping_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_calls, "PING_SECONDS", 0.001)
    own = Exchange({"wait": True})
    running = asyncio.create_task(own.run())
    async with asyncio.timeout(30):
        while own.said.count(b": ping\r\n\r\n") < 2:
            await asyncio.sleep(0)
    own.go.set()
    assert await running
    assert b'"result":{"content":[]}' in own.said


async def test_tool_that_may_ask_takes_the_sdk_path() -> None:
    """The SDK's path seals the state of a question."""
    own = Exchange({})
    assert not await own.run(asks=True)
    assert own.parts == []
