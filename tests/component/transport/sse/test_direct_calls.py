"""Direct calls on an SSE stream, past the SDK's dispatcher, behave like those through it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import pytest
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic_core import from_json
from starlette.requests import Request

from server.transport import mcp
from server.transport.http.direct_calls import DirectTools, begin_direct_calls
from server.transport.http.streams import STREAM, Outgoing, Stream
from tests.support import process, sse
from tests.support.cases import cases
from tests.support.inprocess import in_process
from tests.support.raw import call as tool_call
from tests.support.sse import SseClient
from tools import lookup_order

PARAMS = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": PARAMS}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ENVELOPE = {types.PROTOCOL_VERSION_META_KEY: "2026-07-28"}


async def until(true: Callable[[], bool]) -> None:
    await process.until(true, 30, "what the test waits for")


def call(number: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "tell", **params}}


@dataclass
class Talk:
    """A stream in the process. `direct` are the arguments of the calls that took the short way, `long` of those that took
    the long one; `unread` tells that the answer to request 99 is being written, which waits for `read`; `go` lets a
    call end."""

    stream: Stream
    said: list[Any] = field(default_factory=list)
    direct: list[Any] = field(default_factory=list)
    long: list[Any] = field(default_factory=list)
    cancelled: int = 0
    unread: asyncio.Event = field(default_factory=asyncio.Event)
    read: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    def post(self, message: dict[str, Any]) -> None:
        request = Request({"type": "http", "headers": [], STREAM: self.stream})
        metadata = ServerMessageMetadata(request_context=request)
        if message.get("method") == "tools/call":
            self.stream.outgoing.under_way.add(message["id"])
        read = types.jsonrpc_message_adapter.validate_python(message, by_name=False)
        self.stream.incoming.put(SessionMessage(read, metadata))

    async def answer(self, number: Any) -> Any:
        await until(lambda: any(each.get("id") == number for each in self.said))
        return next(each for each in self.said if each.get("id") == number)


@asynccontextmanager
async def talk(first: dict[str, Any] = INITIALIZE) -> AsyncIterator[Talk]:
    async def send(part: Any) -> None:
        body = part.get("body", b"")
        if b'"id":99,' in body:
            own.unread.set()
            await own.read.wait()
        if b"data: " in body:
            own.said.append(from_json(body.partition(b"data: ")[2].strip()))

    async def called(ctx: Any, params: Mapping[str, Any]) -> bytes:
        arguments = params.get("arguments", {})
        own.direct.append(arguments)
        await ctx.session.report_progress(1, 2, "on it")
        if arguments.get("wrong"):
            raise MCPError(types.INTERNAL_ERROR, "no")
        if arguments.get("ask"):
            answer = await ctx.session.send_request(types.PingRequest(), types.EmptyResult)
            assert isinstance(answer, types.EmptyResult)
        if arguments.get("wait"):
            try:
                await own.go.wait()
            except asyncio.CancelledError:
                own.cancelled += 1
                raise
        return b'{"content":[]}'

    async def on_call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        own.long.append(params.arguments)
        return types.CallToolResult(content=[])

    async def on_initialized(ctx: Any, params: types.NotificationParams) -> None:
        begin_direct_calls(DirectTools(called, {"tell": lookup_order.TOOL}.get), ctx, "2025-11-25")

    server: Server[Any] = Server("it", on_call_tool=on_call_tool)
    server.add_notification_handler("notifications/initialized", types.NotificationParams, on_initialized)
    outgoing = Outgoing(send)
    own = Talk(Stream(holder="h", name="s", transport="sse", owner=None, outgoing=outgoing))

    async def conversing() -> None:
        with own.stream.scope:
            await server.run(own.stream.incoming, outgoing, server.create_initialization_options())

    running = asyncio.create_task(conversing())
    own.post(first)
    try:
        yield own
    finally:
        own.stream.incoming.end()
        await asyncio.wait_for(running, 30)


async def opened(own: Talk) -> None:
    await own.answer(0)
    own.post(INITIALIZED)
    await until(lambda: own.stream.incoming.take_directly is not None)


async def leave_unread(own: Talk) -> None:
    """Opens the stream, with an answer that its client does not read."""
    await opened(own)
    own.post(call(99))
    await asyncio.wait_for(own.unread.wait(), 30)


async def test_plain_tool_call_bypasses_the_sdk_dispatcher() -> None:
    async with talk() as own:
        await opened(own)
        own.post(call(arguments={"a": 1}))
        own.post(call("two", _meta={"x": 1}))
        assert await own.answer(1) == {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
        assert (await own.answer("two"))["result"] == {"content": []}
        assert own.direct == [{"a": 1}, {}]
        assert own.long == []


@cases(
    "params",
    [
        {"arguments": {}, "more": 1},
        {"_meta": {"io.modelcontextprotocol/logLevel": "info"}},
        {"name": "unheard"},
        {"arguments": None},
        {"_meta": None},
    ],
)
async def test_call_with_unusual_parameters_goes_through_the_sdk_dispatcher(params: dict[str, Any]) -> None:
    async with talk() as own:
        await opened(own)
        own.post(call(**params))
        assert "result" in await own.answer(1)
        assert own.direct == []


@cases("params", [{"arguments": []}, {"_meta": {"progressToken": 1.5}}, {"name": 5}, {"_meta": []}])
async def test_malformed_call_is_refused_with_invalid_params(params: dict[str, Any]) -> None:
    async with talk() as own:
        await opened(own)
        own.post(call(**params))
        assert (await own.answer(1))["error"]["code"] == types.INVALID_PARAMS
        assert own.direct == own.long == []


async def test_call_before_the_handshake_is_refused() -> None:
    async with talk(call(0)) as own:
        assert "error" in await own.answer(0)
        own.post(call(1))
        assert "error" in await own.answer(1)
        assert own.direct == own.long == []


async def test_call_of_the_2026_era_is_refused_after_a_2025_handshake() -> None:
    async with talk() as own:
        await opened(own)
        own.post(call(_meta=ENVELOPE))
        assert (await own.answer(1))["error"]["code"] == types.INVALID_REQUEST
        assert own.direct == own.long == []


async def test_progress_is_sent_only_to_a_call_with_a_progress_token() -> None:
    async with talk() as own:
        await opened(own)
        own.post(call(1))
        own.post(call(2, _meta={"progressToken": 0}))
        await own.answer(2)
        told = [each["params"] for each in own.said if each.get("method") == "notifications/progress"]
        assert told == [{"progressToken": 0, "progress": 1, "total": 2, "message": "on it"}]


async def test_protocol_error_is_answered_as_a_json_rpc_error() -> None:
    async with talk() as own:
        await opened(own)
        own.post(call(arguments={"wrong": True}))
        assert (await own.answer(1))["error"] == {"code": types.INTERNAL_ERROR, "message": "no"}


async def test_call_may_send_a_request_to_its_client() -> None:
    async with talk() as own:
        await opened(own)
        own.post(call(7, arguments={"ask": True}))
        await until(lambda: any(each.get("method") == "ping" for each in own.said))
        number = next(each["id"] for each in own.said if each.get("method") == "ping")
        own.post({"jsonrpc": "2.0", "id": number, "result": {}})
        assert (await own.answer(7))["result"] == {"content": []}


@cases("written", [lambda number: number, str])
async def test_cancelled_call_is_not_answered(written: Callable[[int], Any]) -> None:
    async with talk() as own:
        await opened(own)
        own.post(call(5, arguments={"wait": True}))
        await until(lambda: len(own.direct) == 1)
        own.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": written(5)}})
        await until(lambda: 5 not in own.stream.outgoing.under_way)
        own.post(call(6))
        await own.answer(6)
        assert own.cancelled == 1
        assert all(each.get("id") != 5 for each in own.said)


async def test_call_cancelled_before_it_has_begun_ends() -> None:
    async with talk() as own:
        await opened(own)
        own.post(call(5, arguments={"wait": True}))
        own.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})
        await until(lambda: 5 not in own.stream.outgoing.under_way)


@cases("begun", [False, True])
async def test_end_of_a_stream_cancels_its_calls_with_connection_closed(begun: bool) -> None:
    async with talk() as own:
        await opened(own)
        own.post(call("7", arguments={"wait": True}))
        own.post(call("07", arguments={"wait": True}))
        await until(lambda: not begun or len(own.direct) == 2)
    assert own.cancelled == 2
    ended = {each["id"]: each["error"]["code"] for each in own.said if "error" in each}
    assert ended == {"7": types.CONNECTION_CLOSED, "07": types.CONNECTION_CLOSED}


async def test_call_whose_answer_is_not_read_ends_with_its_stream() -> None:
    async with talk() as own:
        await leave_unread(own)
    assert [each for each in asyncio.all_tasks() if each.get_name() == "direct call"] == []


async def test_calls_beyond_32_wait_without_a_task_and_begin_in_order() -> None:
    """Some 27,000 tasks of 150 streams that closed at once stopped the event loop for three seconds."""
    async with talk() as own:
        await opened(own)
        for number in range(1, 41):
            own.post(call(number, arguments={"wait": True, "number": number}))
        await until(lambda: len(own.direct) == 32)
        assert len([each for each in asyncio.all_tasks() if each.get_name() == "direct call"]) == 32
        own.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "34"}})
        assert 34 not in own.stream.outgoing.under_way
        own.go.set()
        await own.answer(40)
        assert [each["number"] for each in own.direct] == [*range(1, 34), *range(35, 41)]
        assert all(each.get("id") != 34 for each in own.said)
        assert not own.stream.busy()


async def test_no_call_begins_while_an_answer_is_unread_and_all_end_with_the_stream() -> None:
    async with talk() as own:
        await leave_unread(own)
        for number in range(1, 41):
            own.post(call(number))
        assert len([each for each in asyncio.all_tasks() if each.get_name() == "direct call"]) == 1
        own.stream.scope.cancel()
    assert own.direct == [{}]
    ended = {each["id"]: each["error"]["code"] for each in own.said if "error" in each}
    assert ended == dict.fromkeys(range(1, 41), types.CONNECTION_CLOSED)


async def test_answer_that_waits_behind_an_unread_one_is_told_as_cut_off() -> None:
    async with talk() as own:
        await opened(own)
        own.post(call(1, arguments={"wait": True}))
        await until(lambda: len(own.direct) == 1)
        own.post(call(99))
        await asyncio.wait_for(own.unread.wait(), 30)
        own.go.set()
        await until(lambda: own.stream.outgoing.unread_bytes > 2 * len(b'{"content":[]}') - 1)
        own.stream.scope.cancel()
        assert (await own.answer(1))["error"]["code"] == types.CONNECTION_CLOSED


async def test_no_call_begins_once_the_client_has_gone() -> None:
    """A write ends when the client goes, so that all calls that waited for it would run for nobody."""
    async with talk() as own:
        await leave_unread(own)
        for number in range(1, 41):
            own.post(call(number))
        own.stream.incoming.end()
        own.read.set()
    assert own.direct == [{}]
    assert all("error" not in each for each in own.said)


async def test_cancelled_conversation_answers_its_calls_with_connection_closed() -> None:
    async with talk() as own:
        await opened(own)
        own.post(call(5, arguments={"wait": True}))
        await until(lambda: len(own.direct) == 1)
        own.stream.scope.cancel()
        await own.answer(5)
    assert own.cancelled == 1
    assert [each["error"]["code"] for each in own.said if each.get("id") == 5] == [types.CONNECTION_CLOSED]


async def test_result_that_cannot_be_serialized_is_an_internal_error_without_details(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_result(*_: object) -> bytes:
        raise ValueError("secret")

    monkeypatch.setattr(mcp, "serialize_result", no_result)
    async with in_process() as own, SseClient.to(own.port) as client:
        await client.post(tool_call("search_manga_catalog", {"query": "one piece"}))
        assert (await client.answer_to(1))["error"] == {"code": types.INTERNAL_ERROR, "message": "Internal server error"}


async def test_fast_path_begins_without_the_initialized_notification(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client may leave it out; the SDK would then run each of its calls at several times the cost."""
    taken: list[str] = []
    respond = DirectTools.respond

    async def noted(own: DirectTools, context: Any, params: Any) -> tuple[int, bytes, bytes]:
        taken.append(context.method)
        return await respond(own, context, params)

    other = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}
    monkeypatch.setattr(sse, "INITIALIZED", other)
    monkeypatch.setattr(DirectTools, "respond", noted)
    async with in_process() as own, SseClient.to(own.port) as client:
        await client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        await client.answer_to(1)
    assert taken == ["tools/list"]
