"""Tool calls and tool lists on a short way past the SDK's queue, task group and models, which cost more than the call.

Only plain calls of handshake connections go it; everything else goes the SDK's way. Identity, progress, questions to the
client, cancellation and the end of the stream are the same on both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.shared.transport_context import TransportContext
from pydantic_core import to_json
from starlette.requests import Request

from server.transport.http.streams import Outgoing
from server.transport.messages import Json
from session.resilience.tasks import start_task

Context = ServerRequestContext[Any, Request]
Params = Mapping[str, Any]
CALL, LIST = "tools/call", "tools/list"
TOKEN = "progressToken"  # noqa: S105
CLOSED_SECONDS = 1.0
"""Seconds in which a call cut off by the end of its stream may tell its client."""
CLOSED = to_json({"code": types.CONNECTION_CLOSED, "message": "Connection closed"})


@dataclass(frozen=True, slots=True)
class DirectTools:
    """`call` and `list` answer by JSON, and raise nothing but `MCPError`. `is_known` is true for every tool that there ever
    was, `may_ask` for one that may ask its client between two calls."""

    call: Callable[[Context, str, Json], Awaitable[bytes]]
    list: Callable[[Context], Awaitable[bytes]]
    is_known: Callable[[str], bool]
    may_ask: Callable[[str], bool]

    async def answer(self, ctx: Context, params: Params) -> bytes:
        if ctx.method == LIST:
            return await self.list(ctx)
        return await self.call(ctx, params["name"], params.get("arguments", {}))

    def is_plain(self, method: str, params: Params) -> bool:
        """True for the parameters of a call or list that the SDK would accept, without any others."""
        if method == LIST:
            return params.keys() <= {"_meta"} and _is_plain_meta(params)
        if method != CALL or not params.keys() <= {"name", "arguments", "_meta"}:
            return False
        name = params.get("name")
        if not isinstance(name, str) or not self.is_known(name):
            return False
        return isinstance(params.get("arguments", {}), dict) and _is_plain_meta(params)


def _is_plain_meta(params: Params) -> bool:
    meta = params.get("_meta", {})
    token = meta.get(TOKEN, "") if isinstance(meta, dict) else None
    return isinstance(token, str | int) and not isinstance(token, bool)


class Exchange:
    """The way back to the sender of a request, as the SDK's session uses it (`DispatchContext`)."""

    transport = TransportContext(kind="jsonrpc", can_send_request=True)

    def __init__(
        self, connection: Connection, number: types.RequestId, params: Params, metadata: ServerMessageMetadata
    ) -> None:
        self.connection = connection
        self.request_id = number
        self.message_metadata = metadata
        self.is_closed = False
        self.cancel_requested = anyio.Event()
        self._token = params.get("_meta", {}).get(TOKEN)

    @property
    def can_send_request(self) -> bool:
        return not self.is_closed

    async def send_raw_request(self, method: str, params: Params | None, opts: CallOptions | None = None) -> Json:
        if self.is_closed:
            raise NoBackChannelError(method)
        return await self.connection.outbound.send_raw_request(method, params, opts)

    async def notify(self, method: str, params: Params | None, opts: CallOptions | None = None) -> None:
        if not self.is_closed:
            await self.connection.outbound.notify(method, params, opts)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self._token is not None:
            values = {TOKEN: self._token, "progress": progress, "total": total, "message": message}
            await self.notify("notifications/progress", {name: each for name, each in values.items() if each is not None})

    def context(self, method: str, params: Params, lifespan: Any) -> Context:
        meta = params.get("_meta")
        return ServerRequestContext(
            session=ServerSession(self, self.connection, request_meta=meta),
            lifespan_context=lifespan,
            method=method,
            params=params,
            request_id=self.request_id,
            meta=meta,
            protocol_version=self.connection.protocol_version,
            request=self.message_metadata.request_context,
        )


class DirectCalls:
    """The calls of one stream. Each is a task of its own, which ends with the stream."""

    def __init__(self, tools: DirectTools, connection: Connection, outgoing: Outgoing, lifespan: Any) -> None:
        self._tools = tools
        self._connection = connection
        self._outgoing = outgoing
        self._lifespan = lifespan
        self._under_way: dict[types.RequestId, tuple[Exchange, asyncio.Task[None]]] = {}

    def take(self, message: SessionMessage) -> bool:
        """Begins a plain call in the caller's context. Returns False for everything else."""
        request, metadata = message.message, message.metadata
        if isinstance(request, types.JSONRPCNotification):
            self._cancel(request)
            return False
        if not isinstance(request, types.JSONRPCRequest) or not isinstance(metadata, ServerMessageMetadata):
            return False
        params = request.params or {}
        if not self._connection.initialize_accepted or not self._tools.is_plain(request.method, params):
            return False
        if any(key.startswith("io.modelcontextprotocol/") for key in params.get("_meta", {})):
            return False
        exchange = Exchange(self._connection, request.id, params, metadata)
        task = start_task(self._answer(exchange, request.method, params), "direct call")
        self._under_way[request.id] = exchange, task
        return True

    async def aclose(self) -> None:
        """Cancels the calls under way, and waits for their end."""
        await asyncio.sleep(0)  # a task that has not begun would end without a word to its client
        tasks = [task for _, task in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _cancel(self, note: types.JSONRPCNotification) -> None:
        if note.method != "notifications/cancelled" or (number := cancelled_request_id_from_params(note.params)) is None:
            return
        as_text = (each for known, each in self._under_way.items() if str(known) == str(number))  # as in the SDK
        exchange, task = self._under_way.get(number) or next(as_text, (None, None))
        if exchange is not None and task is not None and not exchange.is_closed:
            exchange.cancel_requested.set()
            # Later, since a task of the same batch may not have begun: only then does it report its end.
            asyncio.get_running_loop().call_soon(task.cancel)

    async def _answer(self, exchange: Exchange, method: str, params: Params) -> None:
        number = exchange.request_id
        try:
            async with self._outgoing.working():
                try:
                    context = exchange.context(method, params, self._lifespan)
                    answer = b"result", await self._tools.answer(context, params)
                except MCPError as error:
                    answer = b"error", to_json(error.error.model_dump(exclude_none=True))
                exchange.is_closed = True
                await self._outgoing.answer(number, *answer)
        except asyncio.CancelledError:
            await self._report_cut_off(exchange)
            raise
        finally:
            exchange.is_closed = True
            if self._under_way.get(number, (None,))[0] is exchange:
                del self._under_way[number]

    async def _report_cut_off(self, exchange: Exchange) -> None:
        """A client that has cancelled hears no more of the call; one whose stream ends gets an error, if it still reads."""
        was_answered, exchange.is_closed = exchange.is_closed, True
        if exchange.cancel_requested.is_set():
            if exchange.message_metadata.on_request_unanswered is not None:
                await exchange.message_metadata.on_request_unanswered()
        elif not was_answered:
            with anyio.move_on_after(CLOSED_SECONDS, shield=True):
                await self._outgoing.answer(exchange.request_id, b"error", CLOSED)
