"""The fast path for plain tool calls and tool lists. It bypasses the SDK's queue, task group and models, which cost more
than the call.

A plain request has no members beyond a tool's name, its arguments and `_meta`. All other messages go through the SDK.
Identity, progress, questions to the client, cancellation and the end of the stream work alike on both paths."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
    validate_mcp_param_headers,
)
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types.methods import validate_client_request
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from server.transport.http.responses import EventResponse, dump_answer, frame_event
from server.transport.http.streams import STREAM, Stream
from server.transport.listeners import connection_of
from server.transport.messages import Json, Posted, has_batches
from session.resilience.tasks import end_task, start_task
from tools.contract import Tool

Context = ServerRequestContext[Any, Request]
Params = Mapping[str, Any]
CALL, LIST = "tools/call", "tools/list"
TOKEN = "progressToken"  # noqa: S105
MOST_AT_WORK = 32
"""Maximum direct calls of one stream that run at once; others wait."""
CLOSED_SECONDS = 1.0
"""Seconds for sending the errors of calls that the end of their stream has cut off."""
END_SECONDS = 2.0
"""Maximum seconds that a closing stream waits for its calls to end."""
CLOSED = to_json({"code": types.CONNECTION_CLOSED, "message": "Connection closed"})


@dataclass(frozen=True, slots=True)
class DirectTools:
    """Runs tools on the fast path. `answer` returns the result of a plain call or list as JSON, and raises only `MCPError`.
    `find` returns a tool that is registered or was withdrawn lately, else None."""

    answer: Callable[[Context, Params], Awaitable[bytes]]
    find: Callable[[str], Tool | None]

    def is_plain(self, method: str, params: Params) -> bool:
        """Returns True for a tool list, or a call of a known tool, whose params are valid and have no members beyond a
        tool's name, its arguments and `_meta`."""
        if method == LIST:
            return params.keys() <= {"_meta"} and _is_plain_meta(params)
        if method != CALL or not params.keys() <= {"name", "arguments", "_meta"}:
            return False
        name = params.get("name")
        if not isinstance(name, str) or self.find(name) is None:
            return False
        return isinstance(params.get("arguments", {}), dict) and _is_plain_meta(params)

    async def respond(self, context: Context, params: Params) -> tuple[int, bytes, bytes]:
        """Runs a plain request. Returns its HTTP status, "result" or "error", and that member of the answer as JSON."""
        try:
            return 200, b"result", await self.answer(context, params)
        except MCPError as error:
            status = ERROR_CODE_HTTP_STATUS.get(error.error.code, 200)
            return status, b"error", to_json(error.error.model_dump(exclude_none=True))


def _is_plain_meta(params: Params) -> bool:
    meta = params.get("_meta", {})
    token = meta.get(TOKEN, "") if isinstance(meta, dict) else None
    return isinstance(token, str | int) and not isinstance(token, bool)


@dataclass(eq=False)
class Exchange:
    """A request, and the channel back to the client that sent it. Implements the SDK's `DispatchContext`."""

    connection: Connection
    request_id: types.RequestId
    method: str
    params: Params
    message_metadata: ServerMessageMetadata
    transport: TransportContext = TransportContext(kind="jsonrpc", can_send_request=True)
    is_closed: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    @property
    def can_send_request(self) -> bool:
        return not self.is_closed

    async def send_raw_request(self, method: str, params: Params | None, opts: CallOptions | None = None) -> Json:
        if not self.can_send_request:
            raise NoBackChannelError(method)
        return await self.connection.outbound.send_raw_request(method, params, opts)

    async def notify(self, method: str, params: Params | None, opts: CallOptions | None = None) -> None:
        if not self.is_closed:
            await self.connection.outbound.notify(method, params, opts)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        token = self.params.get("_meta", {}).get(TOKEN)
        if token is not None:
            values = {TOKEN: token, "progress": progress, "total": total, "message": message}
            await self.notify("notifications/progress", {name: each for name, each in values.items() if each is not None})

    def context(self, lifespan: Any) -> Context:
        meta = self.params.get("_meta")
        return ServerRequestContext(
            session=ServerSession(self, self.connection, request_meta=meta),
            lifespan_context=lifespan,
            method=self.method,
            params=self.params,
            request_id=self.request_id,
            meta=meta,
            protocol_version=self.connection.protocol_version,
            request=self.message_metadata.request_context,
        )


def begin_direct_calls(tools: DirectTools, ctx: Context, version: str) -> None:
    """Takes the fast path from now on for plain requests on the connection's stream, and batches if the agreed protocol
    version has them. Does nothing for a connection without a stream (Streamable HTTP, stdio)."""
    stream: Stream | None = ctx.request.scope.get(STREAM) if ctx.request is not None else None
    if stream is None:
        return
    stream.batches = has_batches(version)
    connection = connection_of(ctx.session)
    calls = DirectCalls(tools, connection, stream, ctx.lifespan_context)
    stream.incoming.take_directly = calls.take

    async def end() -> None:
        stream.incoming.take_directly = None
        with anyio.move_on_after(END_SECONDS):
            await calls.aclose()

    connection.exit_stack.push_async_callback(end)


@dataclass(eq=False)
class DirectCalls:
    """The calls of one stream's fast path, which end with the stream. At most `MOST_AT_WORK` have a task; the others wait in
    order, since thousands of tasks that end at once would stop the event loop. No call begins while an answer is unread."""

    tools: DirectTools
    connection: Connection
    stream: Stream
    lifespan: Any
    _started: dict[types.RequestId, tuple[Exchange, asyncio.Task[None]]] = field(default_factory=dict)
    _waiting: dict[types.RequestId, tuple[Exchange, contextvars.Context]] = field(default_factory=dict)

    def take(self, message: SessionMessage) -> bool:
        """Accepts a plain request and returns True. Leaves any other message to the SDK and returns False, but first cancels
        the call that a `notifications/cancelled` names."""
        request, metadata = message.message, message.metadata
        if isinstance(request, types.JSONRPCNotification):
            self._cancel(request)
            return False
        if not isinstance(request, types.JSONRPCRequest) or not isinstance(metadata, ServerMessageMetadata):
            return False
        params = request.params or {}
        if not self.connection.initialize_accepted or not self.tools.is_plain(request.method, params):
            return False
        if any(key.startswith("io.modelcontextprotocol/") for key in params.get("_meta", {})):
            return False
        exchange = Exchange(self.connection, request.id, request.method, params, metadata)
        self._waiting[request.id] = exchange, contextvars.copy_context()
        self._start_next()
        return True

    async def aclose(self) -> None:
        """Ends the calls. Those that wait are answered with an error if the server ends the stream, not the client."""
        await asyncio.sleep(0)  # lets new tasks start: a task that is cancelled before it starts sends no error
        waiting, self._waiting = self._waiting, {}
        await end_task(*(task for _, task in self._started.values()))
        with anyio.move_on_after(CLOSED_SECONDS):
            for exchange, _ in waiting.values() if self.stream.scope.cancel_called else ():
                await self._report_cut_off(exchange)

    def _start_next(self) -> None:
        """Starts the call that has waited longest. While an answer is unread, at most one task waits for the client to read,
        and starts the next call then."""
        may_begin = self.stream.outgoing.all_read.is_set() and len(self._started) < MOST_AT_WORK
        if self._waiting and (may_begin or not self._started) and not self.stream.incoming.is_ended:
            number = next(iter(self._waiting))
            exchange, context = self._waiting.pop(number)
            self._started[number] = exchange, start_task(self._answer(exchange), "direct call", context)

    def _cancel(self, note: types.JSONRPCNotification) -> None:
        if note.method != "notifications/cancelled" or (number := cancelled_request_id_from_params(note.params)) is None:
            return
        known = [*self._started, *self._waiting]
        number = number if number in known else next((each for each in known if str(each) == str(number)), number)
        if number in self._waiting:
            self._waiting.pop(number)
            self.stream.outgoing.under_way.discard(number)
        elif number in self._started:
            exchange, task = self._started[number]
            if not exchange.is_closed:
                exchange.cancel_requested.set()
                # Not at once: a task of the same batch may not have started, and an unstarted task would send no error.
                asyncio.get_running_loop().call_soon(task.cancel)

    async def _answer(self, exchange: Exchange) -> None:
        number = exchange.request_id
        try:
            await self.stream.outgoing.all_read.wait()
            self._start_next()
            _, name, value = await self.tools.respond(exchange.context(self.lifespan), exchange.params)
            exchange.is_closed = True
            await self.stream.outgoing.answer(number, name, value)
        except asyncio.CancelledError:
            with anyio.move_on_after(CLOSED_SECONDS, shield=True):
                await self._report_cut_off(exchange)
            raise
        finally:
            exchange.is_closed = True
            if self._started.get(number, (None,))[0] is exchange:
                del self._started[number]
            self._start_next()

    async def _report_cut_off(self, exchange: Exchange) -> None:
        """Closes the exchange of an interrupted call. Sends an error, unless its answer is being written or its client has
        cancelled it."""
        exchange.is_closed = True
        if exchange.cancel_requested.is_set():
            self.stream.outgoing.under_way.discard(exchange.request_id)
        elif exchange.request_id in self.stream.outgoing.under_way:
            await self.stream.outgoing.answer(exchange.request_id, b"error", CLOSED)


PING_SECONDS = 15.0
"""Seconds between pings. The first ping makes an SSE stream of a response that has not begun, as in the SDK."""


@dataclass(eq=False, kw_only=True)
class OneWayExchange(Exchange):
    """An exchange that can send its client notifications, but no requests."""

    response: EventResponse
    can_send_request = False

    async def notify(self, method: str, params: Params | None, opts: CallOptions | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
        await self.response.write(frame_event(to_json(message)))


async def serve_plain_request(tools: DirectTools, posted: Posted, scope: Scope, receive: Receive, send: Send) -> bool:
    """Answers a plain POST of protocol version 2026-07-28, after the SDK's checks, and returns True. Returns False, without
    reading or sending anything, if the POST is not plain, the SDK would refuse it, or its tool may ask questions."""
    http = Request(scope)
    number, params = posted.number, posted.params
    is_json = http.headers.get("content-type", "").lower().startswith("application/json")
    if number is None or not is_json or not all(check_accept_headers(http)):
        return False
    if (route := _find_route(tools, posted, http.headers)) is None:
        return False
    connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
    response = EventResponse(send)
    metadata = ServerMessageMetadata(request_context=http)
    transport = TransportContext(kind="streamable-http", can_send_request=False, headers=http.headers)
    exchange = OneWayExchange(connection, number, posted.method, params, metadata, transport, response=response)
    task = asyncio.current_task()
    assert task is not None
    has_gone = asyncio.Event()
    watching = start_task(_watch(response, receive, task, has_gone), "gone")
    try:
        status, name, value = await tools.respond(exchange.context({}), params)
        await response.answer(dump_answer(number, name, value), status)
    except asyncio.CancelledError:
        # A disconnected client is no failure. A cancellation by the server at the same moment is still raised.
        if not has_gone.is_set() or task.uncancel():
            raise
    finally:
        watching.cancel()
    return True


def _find_route(tools: DirectTools, posted: Posted, headers: Mapping[str, str]) -> InboundModernRoute | None:
    """Returns the SDK's classification of the request; None if the SDK would refuse it, it is not plain, or its tool may ask
    questions."""
    message, method, params = posted.message, posted.method, posted.params
    if not posted.is_strict or message.keys() != {"jsonrpc", "id", "method", "params"} or message["jsonrpc"] != "2.0":
        return None
    if not isinstance(message["params"], dict) or not tools.is_plain(method, params):
        return None
    if find_duplicated_routing_header(headers.items()) is not None:
        return None
    route = classify_inbound_request(message, headers=dict(headers))
    if not isinstance(route, InboundModernRoute):
        return None
    tool = tools.find(params["name"]) if method == CALL else None
    if tool and (tool.asks or validate_mcp_param_headers(tool.input_schema, params.get("arguments", {}), headers)):
        return None
    try:
        validate_client_request(method, route.protocol_version, params)
    except (KeyError, ValidationError):
        return None
    return route


async def _watch(response: EventResponse, receive: Receive, task: asyncio.Task[Any], has_gone: asyncio.Event) -> None:
    """Cancels the call when its client disconnects. Until then pings every `PING_SECONDS`, to keep the connection open."""
    while not has_gone.is_set():
        try:
            async with asyncio.timeout(PING_SECONDS):
                if (await receive())["type"] == "http.disconnect":
                    has_gone.set()
        except TimeoutError:
            await response.write(b": ping\r\n\r\n")
    if not response.is_ended:
        task.cancel()
