"""Calls of tools that take the short way: past the SDK's queue, task group and models, which cost more than the call.

Only what is plainly a call of a handshake connection goes it, and only its way is another: who calls, what a tool may say
and ask meanwhile, cancellation and the end of the stream are as on the long way, which takes everything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
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
from starlette.requests import Request as HttpRequest

from server.transport.http.streams import Outgoing
from session.resilience.tasks import start_task

Json = dict[str, Any]
Context = ServerRequestContext[Any, HttpRequest]
Params = Mapping[str, Any]
CALL, LIST = "tools/call", "tools/list"
PARAMS = frozenset({"name", "arguments", "_meta"})
RESERVED = "io.modelcontextprotocol/"
TOKEN = "progressToken"  # noqa: S105
CLOSED_SECONDS = 1.0
"""What a call that the end of its stream has cut off may wait for its client to take word of it."""
PIPE = TransportContext(kind="jsonrpc", can_send_request=True)


@dataclass(frozen=True, slots=True)
class DirectTools:
    """`call` answers a call by the bytes of its result, `list` the wish to see the tools; both raise `MCPError` at most.
    `known` tells whether there ever was a tool of that name, `asks` whether one may ask its client between two calls."""

    call: Callable[[Context, str, Json], Awaitable[bytes]]
    list: Callable[[Context], Awaitable[bytes]]
    known: Callable[[str], bool]
    asks: Callable[[str], bool]

    async def answer(self, ctx: Context, params: Params) -> bytes:
        """Answers what is plain."""
        if ctx.method == LIST:
            return await self.list(ctx)
        return await self.call(ctx, params["name"], params.get("arguments", {}))

    def plain(self, method: str, params: Params) -> bool:
        """Whether the SDK, too, would take them for the parameters of a call or of a list, and for nothing more."""
        if method == LIST:
            return params.keys() <= {"_meta"} and _plain_meta(params)
        if method != CALL:
            return False
        name = params.get("name")
        if not params.keys() <= PARAMS or not isinstance(name, str) or not self.known(name):
            return False
        return isinstance(params.get("arguments", {}), dict) and _plain_meta(params)


def _plain_meta(params: Params) -> bool:
    meta = params.get("_meta", {})
    token = meta.get(TOKEN, "") if isinstance(meta, dict) else None
    return isinstance(token, str | int) and not isinstance(token, bool)


@dataclass(slots=True)
class Request:
    """The way back to whoever sent a request, as the SDK's session uses it (`DispatchContext`)."""

    connection: Connection
    request_id: types.RequestId
    message_metadata: ServerMessageMetadata
    token: types.ProgressToken | None
    closed: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    @property
    def transport(self) -> TransportContext:
        return PIPE

    @property
    def can_send_request(self) -> bool:
        return not self.closed

    async def send_raw_request(self, method: str, params: Params | None, opts: CallOptions | None = None) -> Json:
        if self.closed:
            raise NoBackChannelError(method)
        return await self.connection.outbound.send_raw_request(method, params, opts)

    async def notify(self, method: str, params: Params | None, opts: CallOptions | None = None) -> None:
        if not self.closed:
            await self.connection.outbound.notify(method, params, opts)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self.token is None:
            return
        said = {TOKEN: self.token, "progress": progress, "total": total, "message": message}
        await self.notify("notifications/progress", {name: each for name, each in said.items() if each is not None})


class DirectCalls:
    """Of one stream. Each call under way is a task of its own, which ends with it."""

    def __init__(self, tools: DirectTools, connection: Connection, outgoing: Outgoing, lifespan: Any) -> None:
        self._tools = tools
        self._connection = connection
        self._outgoing = outgoing
        self._lifespan = lifespan
        self._under_way: dict[types.RequestId, tuple[Request, asyncio.Task[None]]] = {}

    def take(self, message: SessionMessage) -> bool:
        """Begins what is plainly a call, in the context of whoever brings it. False for everything else."""
        asked, metadata = message.message, message.metadata
        if isinstance(asked, types.JSONRPCNotification):
            self._cancel(asked)
            return False
        if not isinstance(asked, types.JSONRPCRequest) or not isinstance(metadata, ServerMessageMetadata):
            return False
        params = asked.params or {}
        if not self._connection.initialize_accepted or not self._plain(asked.method, params):
            return False
        request = Request(self._connection, asked.id, metadata, params.get("_meta", {}).get(TOKEN))
        task = start_task(self._answer(request, asked.method, params), "direct call")
        self._under_way[asked.id] = request, task
        return True

    async def aclose(self) -> None:
        """Cancels what is under way, and waits until it is over."""
        await asyncio.sleep(0)  # a task that has not begun would end without a word to its client
        tasks = [task for _, task in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _plain(self, method: str, params: Params) -> bool:
        return self._tools.plain(method, params) and not any(key.startswith(RESERVED) for key in params.get("_meta", {}))

    def _cancel(self, told: types.JSONRPCNotification) -> None:
        if told.method != "notifications/cancelled" or (number := cancelled_request_id_from_params(told.params)) is None:
            return
        as_text = (each for known, each in self._under_way.items() if str(known) == str(number))  # as the SDK takes it
        request, task = self._under_way.get(number) or next(as_text, (None, None))
        if request is not None and task is not None and not request.closed:
            request.cancel_requested.set()
            # After it has begun, which it may not have if it came in the same batch: only then does it say that it is over.
            asyncio.get_running_loop().call_soon(task.cancel)

    async def _answer(self, request: Request, method: str, params: Params) -> None:
        number = request.request_id
        try:
            async with self._outgoing.working():
                try:
                    said = b"result", await self._tools.answer(self._context(request, method, params), params)
                except MCPError as error:
                    said = b"error", to_json(error.error.model_dump(exclude_none=True))
                request.closed = True
                await self._outgoing.answer(number, *said)
        except asyncio.CancelledError:
            await self._cut_off(request)
            raise
        finally:
            request.closed = True
            if self._under_way.get(number, (None,))[0] is request:
                del self._under_way[number]

    def _context(self, request: Request, method: str, params: Params) -> Context:
        meta = params.get("_meta")
        return ServerRequestContext(
            session=ServerSession(request, self._connection, request_meta=meta),
            lifespan_context=self._lifespan,
            method=method,
            params=params,
            request_id=request.request_id,
            meta=meta,
            protocol_version=self._connection.protocol_version,
            request=request.message_metadata.request_context,
        )

    async def _cut_off(self, request: Request) -> None:
        """A client that has cancelled hears no more of it; one whose stream ends is told, if it still listens."""
        answered, request.closed = request.closed, True
        if request.cancel_requested.is_set():
            if request.message_metadata.on_request_unanswered is not None:
                await request.message_metadata.on_request_unanswered()
        elif not answered:
            with anyio.move_on_after(CLOSED_SECONDS, shield=True):
                await self._outgoing.answer(request.request_id, b"error", CLOSED)


CLOSED = to_json({"code": types.CONNECTION_CLOSED, "message": "Connection closed"})
