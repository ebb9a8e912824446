"""The MCP server. Its handlers run requests through the pipeline, whatever the transport."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import HandlerEntry, NotificationOptions, Server
from mcp.server.request_state import AESGCMRequestStateCodec, RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types.methods import serialize_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic_core import to_json

from server.call import Call, Outcome, Principal
from server.identity.caller_limits import CallerLimits
from server.identity.tool_access import ToolAccess
from server.pipeline import Pipeline
from server.results import UNTRUSTED_TEXT, call_tool_result
from server.runtime.fleet_key import FleetKey
from server.transport.changes import SessionUpdates
from server.transport.http.direct_calls import CALL, LIST, DirectTools, begin_direct_calls
from server.transport.http.slots import Subscriptions
from server.transport.listeners import SubscriberBus, ToolListChanges, Watchers, connection_of
from server.transport.messages import Extensions
from server.transport.primitives import Handler, PrimitiveMethods
from server.transport.request import Context, MakeResult, Requests, origin_of, read_identity, refuse_cursor
from server.transport.tool_listing import ToolListing
from server.version import CONTRACT, VERSION
from tools.contract import Json, Tool
from tools.prompts.wording import instructions
from tools.schema.text import remove_hidden

if TYPE_CHECKING:
    from server.application import Environment

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")
NAME = "manga-tools"
CONTRACT_KEY = "com.mangaassist/contract"


class StoreServer(Server[Any]):
    """The SDK's server, which always announces notifications of list changes. Capabilities and methods for which `offers`
    returns False are neither announced nor answered."""

    offers: Callable[[str], bool]

    def get_request_handler(self, method: str) -> HandlerEntry[Any] | None:
        return super().get_request_handler(method) if self.offers(method) else None

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, Json] | None = None,
        extensions: dict[str, Json] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        changes = NotificationOptions(True, True, True)
        handled = super().get_capabilities(changes, experimental_capabilities, extensions, protocol_version=protocol_version)
        missing = [name for name in ("prompts", "resources", "completions", "logging") if not self.offers(name)]
        return handled.model_copy(update=dict.fromkeys(missing))


def hide_exceptions(handler: Callable[[Context, Any], Awaitable[Answer]]) -> Callable[[Context, Any], Awaitable[Answer]]:
    """Wraps a handler: logs its unexpected exceptions and raises `MCPError`, since the SDK would send their text."""

    async def handle(ctx: Context, params: Any) -> Answer:
        try:
            return await handler(ctx, params)
        except MCPError:
            raise
        except Exception:
            logger.exception("%s failed outside the pipeline", ctx.method)
            raise MCPError(types.INTERNAL_ERROR, "Internal server error") from None

    return handle


class FleetCodec:
    """The SDK's codec for request state (AES-256-GCM), with the current keys that all replicas share."""

    def __init__(self, key: FleetKey) -> None:
        self._key = key

    def seal(self, payload: bytes) -> str:
        return self._codec().seal(payload)

    def unseal(self, token: str) -> bytes:
        return self._codec().unseal(token)

    def _codec(self) -> AESGCMRequestStateCodec:
        return AESGCMRequestStateCodec(self._key.derive_keys(b"request-state/1"))


def _state_owner(ctx: Context) -> str | None:
    """Returns, as JSON, the principal, stated user and stated session to which request state is bound; None without any."""
    metadata, _ = read_identity(ctx)
    known = [origin_of(ctx.request), metadata.user, metadata.session]
    return json.dumps(known) if any(known) else None


TEXT, STRUCTURE, META = "manga-mark-text", "manga-mark-structure", "manga-mark-meta"
MARKS = re.compile(f'("{TEXT}"|"{STRUCTURE}":0|"{META}":0)'.encode())


def serialize_result(version: str, result: Json) -> bytes:
    """Returns a result of `server.results.call_tool_result` as JSON. If the result has only one content block, that block's
    text is the structured content as JSON. Such a result is inserted into a cached frame."""
    block, *beside = result["content"]
    if beside:
        return to_json(serialize_server_result(CALL, version, result))
    text: str = block["text"]
    gaps = {TEXT: to_json(text), STRUCTURE: text[1:-1].encode(), META: to_json(result["_meta"])[1:-1]}
    return b"".join([gaps[part] if isinstance(part, str) else part for part in _frame(version, result["isError"])])


@lru_cache(maxsize=32)
def _frame(version: str, failed: bool) -> tuple[bytes | str, ...]:
    """Returns the bytes that all results with the same `version` and `failed` have in common. Between them are the names of
    placeholders (str) for the rest."""
    block: Json = {"type": "text", "text": TEXT} | ({} if failed else UNTRUSTED_TEXT)
    result = {"resultType": "complete", "content": [block], "structuredContent": {STRUCTURE: 0}, "isError": failed}
    frame = to_json(serialize_server_result(CALL, version, result | {"_meta": {META: 0}}))
    return tuple(part.split(b'"')[1].decode() if MARKS.fullmatch(part) else part for part in MARKS.split(frame))


class Protocol:
    """The handlers of MCP requests. `mcp` is the server that every transport runs, `direct` the fast path to tools."""

    def __init__(
        self, env: Environment, access: ToolAccess, limits: CallerLimits, pipeline: Pipeline, own_updates: SessionUpdates
    ) -> None:
        self._registry = env.registry
        self._access = access
        self._key = env.key
        self._store = pipeline.store
        self._requests = Requests(env.identifier, limits, pipeline, env.metrics.record_answer_sent)
        self._listing = ToolListing(access)
        self.tool_list_changes = ToolListChanges(self._listing.digest, env.bus)
        env.registry.on_change(self.tool_list_changes.schedule_comparison)
        self.watchers = Watchers(env.bus, self.tool_list_changes.streams)
        env.primitives.on_change(self.watchers.note_changed)
        self.own_updates = own_updates
        self.extensions = Extensions(env.extensions)
        self._primitives = PrimitiveMethods(
            env.registry, env.primitives, access, self.extensions, self._requests, self.watchers, own_updates
        )
        self.subscriptions = Subscriptions(is_watchable=env.primitives.is_subscribable)
        self.mcp = self._server()
        self.direct = DirectTools(answer=hide_exceptions(self._answer_directly), find=self._find_tool)

    def _server(self) -> Server[Any]:
        server = StoreServer(
            NAME,
            version=VERSION,
            title=f"{self._store.policies.shop} tools",
            instructions=instructions(self._store.policies, self._store.currency),
            # Without a schema function, the SDK would list the tools before each call (protocol version 2026-07-28).
            get_tool_input_schema=lambda name: tool.input_schema if (tool := self._find_tool(name)) else None,
            on_subscriptions_listen=self.listen,
        )
        # The handlers return dicts, which saves building models only to dump them again.
        handlers: Sequence[Handler] = (
            ("tools/list", types.PaginatedRequestParams, self.list_tools),
            (CALL, types.CallToolRequestParams, self.call_tool),
            *self._primitives.handlers(),
        )
        for method, params, handler in handlers:
            server.add_request_handler(method, params, hide_exceptions(handler))
        server.extensions = self.extensions.own_settings
        server.offers = self._primitives.offers
        # All replicas can unseal the state. Replacing the middleware drops the SDK's spans: the telemetry stage has its own.
        security = RequestStateSecurity(codec=FleetCodec(self._key), ttl=600.0, bind_principal=_state_owner)
        server.middleware[:] = [RequestStateBoundary(security, default_audience=NAME), self._complete_result]
        server.add_notification_handler("notifications/initialized", types.NotificationParams, self.watch_connection)
        return server

    async def _complete_result(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Middleware that begins a connection's fast path with its `initialize`, and completes two of the SDK's results:
        `initialize` gets the server's extensions, and `server/discover` the version of the tools' contract in `_meta`.
        Raises `MCPError` for a second `initialize`: the agreed version holds for the session (MCP, basic/lifecycle)."""
        modern = (
            ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        )  # has no `initialize`, and each request brings its client's
        if ctx.method == "initialize" and not modern and connection_of(ctx.session).client_params is not None:
            raise MCPError(types.INVALID_REQUEST, "This session is initialized already, and keeps its version.")
        result = await call_next(ctx)
        if not isinstance(result, Mapping):
            return result
        if ctx.method == "initialize":
            begin_direct_calls(self.direct, ctx, result["protocolVersion"])
            if extensions := self.extensions.own_settings:
                return {**result, "capabilities": {**result["capabilities"], "extensions": extensions}}
        if ctx.method == "server/discover":
            return {**result, "_meta": {**result.get("_meta", {}), CONTRACT_KEY: CONTRACT}}
        return result

    def _find_tool(self, name: str) -> Tool | None:
        registered = self._registry.get(name)
        return registered.tool if registered else None

    async def watch_connection(self, ctx: Context, params: types.NotificationParams) -> None:
        """Handles `notifications/initialized`: from now on, notifies the connection of changes."""
        self.watchers.join(ctx.session)
        self.tool_list_changes.join(ctx.session, await self._requests.identify(ctx))

    async def listen(self, ctx: Context, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        """Serves a subscription until it ends (protocol version 2026-07-28). Raises `MCPError` beyond the limits."""
        principal = await self._requests.identify(ctx)
        uris = params.notifications.resource_subscriptions or ()
        owner = await self.own_updates.listen(uris, self._requests.session_of(ctx), principal.user)
        return await self.subscriptions.serve(ctx, params, SubscriberBus(self.tool_list_changes, principal, owner))

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams) -> Json:
        refuse_cursor(params, "tools")
        principal, _ = await self._written_list(ctx)
        return self._listing.result(principal, self.extensions.shared_with(ctx.session))

    async def _written_list(self, ctx: Context) -> tuple[Principal, bytes]:
        """Returns the caller and the tool list as JSON. Raises `MCPError` beyond the caller's rate limit."""
        principal = await self._requests.identify(ctx)
        is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        meta = {types.SERVER_INFO_META_KEY: self.mcp.server_info_stamp} if is_modern else None
        text = self._listing.text(ctx.protocol_version, principal, self.extensions.shared_with(ctx.session), meta)
        self._requests.charge_bytes(ctx, principal, len(text))
        self.tool_list_changes.note_listed(ctx.session, principal)
        return principal, text

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Json:
        """Answers `tools/call`. Raises `MCPError` for an unknown tool, or if a question of the tool cannot be put to the
        client (see `Requests.run`)."""
        tool = self._registry.get(params.name)
        if tool is None:
            principal = await self._requests.identify(ctx)
            nearest = self._registry.nearest(params.name, {each.name for each in self._access.list_tools(principal)})
            hint = f" Did you mean: {', '.join(nearest)}?" if nearest else " tools/list names those there are."
            message = f"Unknown tool: {remove_hidden(params.name[:100])!r}.{hint}"
            raise self._requests.refusal(ctx, principal, message, {"name": "TOOL_NOT_FOUND", "nearest": nearest})
        return await self._requests.run(ctx, tool, params.arguments or {}, self._make_result(ctx))

    async def _answer_directly(self, ctx: Context, params: Mapping[str, Any]) -> bytes:
        if ctx.method == LIST:
            return (await self._written_list(ctx))[1]
        tool = self._registry.get(params["name"])
        assert tool is not None
        result = await self._requests.run(ctx, tool, params.get("arguments", {}), self._make_result(ctx))
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            result["_meta"] |= {types.SERVER_INFO_META_KEY: self.mcp.server_info_stamp}
        return serialize_result(ctx.protocol_version, result)

    def _make_result(self, ctx: Context) -> MakeResult:
        """Returns the function that turns an outcome into a result. To a successful result it adds the `_meta` of
        the extensions that the client has declared."""
        if not (shared := self.extensions.shared_with(ctx.session)):
            return call_tool_result

        def make_result(call: Call, outcome: Outcome) -> Json:
            result = call_tool_result(call, outcome)
            for each in shared if outcome.has_succeeded else ():
                result["_meta"] |= each.of_result(self._store, call.may_use, call.name, result["structuredContent"])
            return result

        return make_result
