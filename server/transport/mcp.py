"""The handlers of the MCP server, over one pipeline. Transports are elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import SubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp_types.methods import serialize_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic_core import to_json

from server.call import Call, Outcome, Principal
from server.identity import Identifier
from server.identity.caller_limits import CallerLimits
from server.identity.tool_access import ToolAccess
from server.pipeline import Pipeline
from server.results import FROM_ELSEWHERE, call_tool_result
from server.runtime.fleet_key import FleetKey
from server.transport.calls import Answer, Calls, LogLevels
from server.transport.changes import OwnUpdates
from server.transport.http.slots import Subscriptions
from server.transport.listeners import ToolListChanges
from server.transport.messages import Extensions
from server.transport.primitives import PrimitiveMethods
from server.transport.request import Askers, Context, one_page
from server.transport.store_server import NAME, StoreServer, quietly, request_state_boundary
from server.transport.tool_listing import ToolListing
from server.transport.watchers import Watchers
from tools.primitive_registry import PrimitiveRegistry
from tools.primitives.resource import Extension
from tools.prompts.wording import instructions
from tools.registry import Registered, Registry
from tools.resources.built_in import HISTORY
from tools.schema.text import remove_hidden

Json = dict[str, Any]
METHOD = "tools/call"
TEXT, STRUCTURE, META = "manga-mark-text", "manga-mark-structure", "manga-mark-meta"
MARKS = re.compile(f'("{TEXT}"|"{STRUCTURE}":0|"{META}":0)'.encode())


def written(version: str, result: Json) -> bytes:
    """Writes it for a client of this version. `result` is what `server.results` makes: its first block's text is
    its structure, written. Raises what the SDK raises for a result that is none."""
    block, *beside = result["content"]
    if beside:
        return to_json(serialize_server_result(METHOD, version, result))
    text: str = block["text"]
    gaps = {TEXT: to_json(text), STRUCTURE: text[1:-1].encode(), META: to_json(result["_meta"])[1:-1]}
    return b"".join([gaps[part] if isinstance(part, str) else part for part in _frame(version, result["isError"])])


@lru_cache(maxsize=32)
def _frame(version: str, failed: bool) -> tuple[bytes | str, ...]:
    """What is the same in every result, with the marks' names where there is something to fill in."""
    block: Json = {"type": "text", "text": TEXT} | ({} if failed else FROM_ELSEWHERE)
    result = {"resultType": "complete", "content": [block], "structuredContent": {STRUCTURE: 0}, "isError": failed}
    frame = to_json(serialize_server_result(METHOD, version, result | {"_meta": {META: 0}}))
    return tuple(_mark(part) for part in MARKS.split(frame))


def _mark(part: bytes) -> bytes | str:
    return part.split(b'"')[1].decode() if MARKS.fullmatch(part) else part


class Protocol:
    """Answers what MCP asks. `mcp` is the server that every transport runs."""

    def __init__(
        self,
        version: str,
        registry: Registry,
        primitives: PrimitiveRegistry,
        access: ToolAccess,
        identifier: Identifier,
        limits: CallerLimits,
        pipeline: Pipeline,
        on_sent: Callable[[Call], None],
        bus: SubscriptionBus,
        own_updates: OwnUpdates,
        key: FleetKey,
        extensions: Iterable[Extension] = (),
    ) -> None:
        """`on_sent` is told of each call whose answer is with the socket; `bus` carries what changes."""
        self._registry = registry
        self._access = access
        self._key = key
        self._askers = Askers(identifier, limits)
        levels = LogLevels()
        self._calls = Calls(pipeline, self._askers.process_session, levels, on_sent)
        self._quietly_called = quietly(self._called)
        self._quietly_listed = quietly(self._listed)
        self._listing = ToolListing(access)
        self.tool_list_changes = ToolListChanges(self._listing.digest, bus)
        registry.on_change(self.tool_list_changes.may_have_changed)
        self.watchers = Watchers(bus)
        primitives.on_change(self.watchers.list_changed)
        self.own_updates = own_updates
        self.extensions = Extensions(extensions)
        self._store = pipeline.store
        self._primitives = PrimitiveMethods(
            registry,
            primitives,
            access,
            self.extensions,
            self._askers,
            self._calls,
            self.watchers,
            own_updates,
            levels,
        )
        self.subscriptions = Subscriptions(tells=primitives.tells)
        self.mcp = self._server(version)

    def _server(self, version: str) -> Server[Any]:
        server = StoreServer(
            NAME,
            version=version,
            title=f"{self._store.policies.shop} tools",
            instructions=instructions(),
            # Otherwise the SDK lists the tools before each 2026 call, identification of the caller included.
            get_tool_input_schema=self._input_schema,
            on_subscriptions_listen=self.listen,
        )
        # Registered this way because they answer plain dicts: a model would be built only to be dumped again.
        server.add_request_handler("tools/list", types.PaginatedRequestParams, quietly(self.list_tools))
        server.add_request_handler("tools/call", types.CallToolRequestParams, quietly(self.call_tool))
        self._primitives.add_to(server)
        # The SDK's own spans would be a second one for each call; ours is the event of the telemetry stage.
        server.middleware[:] = [request_state_boundary(self._key)]
        server.add_notification_handler("notifications/initialized", types.NotificationParams, self.initialized)
        return server

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Returns what the SDK compares `Mcp-Param-*` headers with, whoever calls; None for a name that is no tool."""
        registered = self._registry.get(name)
        return None if registered is None else registered.tool.input_schema

    async def initialized(self, ctx: Context, params: types.NotificationParams) -> None:
        """Notes that a 2025 connection is ready: from now on it hears of changes."""
        self.watchers.join(ctx.session)
        self.tool_list_changes.join(ctx.session, await self._askers.principal(ctx))

    async def listen(self, ctx: Context, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        """Serves a subscription of the 2026 era for as long as it lasts."""
        principal = await self._askers.principal(ctx)
        owner = None
        if HISTORY.uri in (params.notifications.resource_subscriptions or ()):
            owner = await self.own_updates.listen(HISTORY.uri, self._askers.session(ctx), principal.user)
        return await self.subscriptions.serve(ctx, params, self.tool_list_changes.bus_of(principal, owner))

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        """Answers with one page."""
        one_page(params, "tools")
        principal, _ = await self._listed(ctx)
        return self._listing.result(principal, self.extensions.shared_with(ctx.session))

    async def list_directly(self, ctx: Context) -> bytes:
        """Answers with the same, written."""
        _, text = await self._quietly_listed(ctx, None)
        return text

    async def _listed(self, ctx: Context, _: object = None) -> tuple[Principal, bytes]:
        """Tells who asks for the tools, if they may by now, and the list, written."""
        principal = await self._askers.principal(ctx)
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        meta = {types.SERVER_INFO_META_KEY: self.mcp.server_info_stamp} if modern else None
        text = self._listing.text(ctx.protocol_version, principal, self.extensions.shared_with(ctx.session), meta)
        self._askers.admit(ctx, principal, len(text))
        self.tool_list_changes.listed(ctx.session, principal)
        return principal, text

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        """Answers with a result. There is a JSON-RPC error only for a name that never was a tool."""
        tool = self._registry.get(params.name)
        if tool is None:
            raise self._unknown(ctx, params.name, await self._askers.principal(ctx))
        return await self._calls.run(ctx, tool, params.arguments or {}, self._answer_for(ctx))

    def knows(self, name: str) -> bool:
        """Tells whether a tool of this name is or was there."""
        return self._registry.get(name) is not None

    def asks(self, name: str) -> bool:
        """Tells whether a tool may ask its client something between two calls of the 2026 era."""
        tool = self._registry.get(name)
        return tool is not None and tool.tool.asks

    async def call_directly(self, ctx: Context, name: str, arguments: dict[str, Any]) -> bytes:
        """Answers a call of a tool that there is with its result, written. Raises `MCPError`."""
        tool = self._registry.get(name)
        assert tool is not None
        return await self._quietly_called(ctx, (tool, arguments))

    async def _called(self, ctx: Context, asked: tuple[Registered, dict[str, Any]]) -> bytes:
        result = await self._calls.run(ctx, *asked, self._answer_for(ctx))
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            result["_meta"] |= {types.SERVER_INFO_META_KEY: self.mcp.server_info_stamp}
        return written(ctx.protocol_version, result)

    def _answer_for(self, ctx: Context) -> Answer:
        """How an outcome is told to this client, with what the extensions say of it that it shares with this server."""
        if not (shared := self.extensions.shared_with(ctx.session)):
            return call_tool_result

        def answer(call: Call, outcome: Outcome) -> dict[str, Any]:
            result = call_tool_result(call, outcome)
            for each in shared if outcome.succeeded else ():
                result["_meta"] |= each.of_result(self._store, call.may_use, call.name, result["structuredContent"])
            return result

        return answer

    def _unknown(self, ctx: Context, name: str, principal: Principal) -> MCPError:
        theirs = {tool.name for tool in self._access.listed(principal)}
        nearest = self._registry.nearest(name, theirs)
        hint = f" Did you mean: {', '.join(nearest)}?" if nearest else " tools/list names those there are."
        message = f"Unknown tool: {remove_hidden(name[:100])!r}.{hint}"
        return self._askers.refusal(ctx, principal, message, {"name": "TOOL_NOT_FOUND", "nearest": nearest})
