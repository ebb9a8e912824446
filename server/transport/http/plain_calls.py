"""Plain calls and tool lists of the 2026 era on the short way of `direct_calls`, after every check of the SDK.

Whatever the SDK would refuse is left to it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.session import ServerSession
from mcp.server.streamable_http import check_accept_headers
from mcp.server.transport_security import TransportSecurityMiddleware
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
    validate_mcp_param_headers,
)
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types.methods import validate_client_request
from pydantic import ValidationError
from pydantic_core import from_json, to_json
from starlette.requests import Request as HttpRequest
from starlette.types import Receive, Scope, Send

from server.transport.http.direct_calls import CALL, LIST, TOKEN, DirectTools
from server.transport.http.streams import HEADERS
from session.resilience.tasks import start_task

Params = Mapping[str, Any]


class OneAnswer:
    """To the request of this id."""

    def __init__(self, number: types.RequestId, send: Send) -> None:
        self._number = number
        self._send = send
        self._one = asyncio.Lock()
        self._streams = False
        self.ended = False

    async def tell(self, message: bytes) -> None:
        """Tells a message before the answer. After it nothing is told."""
        await self._event(b"event: message\r\ndata: %b\r\n\r\n" % message)

    async def ping(self) -> None:
        await self._event(b": ping\r\n\r\n")

    async def end(self, said: bytes, status: int) -> None:
        """Answers by a result or error, which is written already, under its name. A stream has no status of its own."""
        body = b'{"jsonrpc":"2.0","id":%b,%b}' % (to_json(self._number), said)
        async with self._one:
            self.ended = True
            if self._streams:
                body = b"event: message\r\ndata: %b\r\n\r\n" % body
            else:
                length = (b"content-length", b"%d" % len(body))
                headers = [(b"content-type", b"application/json"), length]
                await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _event(self, event: bytes) -> None:
        async with self._one:
            if self.ended:
                return
            if not self._streams:
                self._streams = True
                await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await self._send({"type": "http.response.body", "body": event, "more_body": True})


class Exchange:
    """The way back to whoever sent the request, as the SDK's session uses it (`DispatchContext`): nothing can be asked."""

    can_send_request = False

    def __init__(
        self,
        answer: OneAnswer,
        number: types.RequestId,
        metadata: ServerMessageMetadata,
        token: types.ProgressToken | None,
        headers: Mapping[str, str],
    ) -> None:
        self._answer = answer
        self._token = token
        self.request_id = number
        self.message_metadata = metadata
        self.transport = TransportContext(kind="streamable-http", can_send_request=False, headers=headers)
        self.cancel_requested = anyio.Event()

    async def send_raw_request(self, method: str, params: Params | None, opts: CallOptions | None = None) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Params | None, opts: CallOptions | None = None) -> None:
        said = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
        await self._answer.tell(to_json(said))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self._token is not None:
            said = {TOKEN: self._token, "progress": progress, "total": total, "message": message}
            await self.notify("notifications/progress", {name: each for name, each in said.items() if each is not None})


Json = dict[str, Any]
MEMBERS = {"jsonrpc", "id", "method", "params"}
PING_SECONDS = 15.0
"""As the SDK: how long an answer may be silent before it becomes a stream that is kept alive."""


class PlainCalls:
    """Of a server whose tools are `tools`."""

    def __init__(self, mcp: Server[Any], tools: DirectTools) -> None:
        self._mcp = mcp
        self._tools = tools
        self._security = TransportSecurityMiddleware()  # whose settings are the manager's: none

    async def serve(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answers what is plainly a call. False for everything else, of which nothing was read or said."""
        http = HttpRequest(scope)
        asked = _request(body) if await self._is_post(http) else None
        route = self._route(asked, http.headers) if asked else None
        if asked is None or route is None:
            return False
        answer = OneAnswer(asked["id"], send)
        context = _context(asked, route, answer, http)
        task = asyncio.current_task()
        assert task is not None
        watch = _Watch(answer, task)
        watching = start_task(watch.run(receive), "gone")
        try:
            await self._answer(context, asked["params"], answer)
        except asyncio.CancelledError:
            # That nobody waits for it any more is no failure. A wish of the server in the same moment stays.
            if not watch.gone or task.uncancel():
                raise
        finally:
            watching.cancel()
        return True

    async def _is_post(self, http: HttpRequest) -> bool:
        """Whether it says that it is JSON, and takes both kinds of an answer."""
        refused = await self._security.validate_request(http, is_post=True)
        return http.method == "POST" and refused is None and all(check_accept_headers(http))

    def _route(self, asked: Json, headers: Mapping[str, str]) -> InboundModernRoute | None:
        """As the SDK finds it; None for what it would refuse, and for what takes more than a call."""
        params = asked["params"]
        called = asked["method"] == CALL
        if not self._tools.plain(asked["method"], params) or (called and self._tools.asks(params["name"])):
            return None
        if find_duplicated_routing_header(headers.items()) is not None:
            return None
        route = classify_inbound_request(asked, headers=dict(headers))
        if not isinstance(route, InboundModernRoute) or (called and self._param_headers_differ(params, headers)):
            return None
        try:
            validate_client_request(asked["method"], route.protocol_version, params)
        except (KeyError, ValidationError):
            return None
        return route

    def _param_headers_differ(self, params: Json, headers: Mapping[str, str]) -> bool:
        schema = self._mcp.get_tool_input_schema
        found = schema(params["name"]) if schema else None
        return found is None or validate_mcp_param_headers(found, params.get("arguments", {}), headers) is not None

    async def _answer(self, context: Any, params: Json, answer: OneAnswer) -> None:
        try:
            result = await self._tools.answer(context, params)
        except MCPError as error:
            said = to_json(error.error.model_dump(mode="json", by_alias=True, exclude_none=True))
            await answer.end(b'"error":' + said, ERROR_CODE_HTTP_STATUS.get(error.error.code, 200))
        else:
            await answer.end(b'"result":' + result, 200)


class _Watch:
    """Ends a call whose client has gone, and keeps the connection of one that waits."""

    def __init__(self, answer: OneAnswer, task: asyncio.Task[Any]) -> None:
        self._answer = answer
        self._task = task
        self.gone = False

    async def run(self, receive: Receive) -> None:
        while not self.gone:
            try:
                async with asyncio.timeout(PING_SECONDS):
                    self.gone = (await receive())["type"] == "http.disconnect"
            except TimeoutError:
                await self._answer.ping()
        if not self._answer.ended:
            self._task.cancel()


def _request(body: bytes) -> Json | None:
    """Reads a request of a call and nothing else. The SDK reads more leniently, half a surrogate for one."""
    try:
        asked = from_json(body)
    except ValueError:
        return None
    if not isinstance(asked, dict) or asked.keys() != MEMBERS or asked["jsonrpc"] != "2.0":
        return None
    number = asked["id"]
    plain = isinstance(number, str | int) and not isinstance(number, bool) and isinstance(asked["params"], dict)
    return asked if plain and asked["method"] in (CALL, LIST) else None


def _context(asked: Json, route: InboundModernRoute, answer: OneAnswer, http: HttpRequest) -> Any:
    params = asked["params"]
    meta = params["_meta"]
    connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
    metadata = ServerMessageMetadata(request_context=http)
    exchange = Exchange(answer, asked["id"], metadata, meta.get(TOKEN), http.headers)
    return ServerRequestContext(
        session=ServerSession(exchange, connection, request_meta=meta),
        lifespan_context={},
        method=asked["method"],
        params=params,
        request_id=asked["id"],
        meta=meta,
        protocol_version=route.protocol_version,
        request=http,
    )
