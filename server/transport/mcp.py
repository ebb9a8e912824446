"""The handlers of the MCP server, over one pipeline. Transports are elsewhere."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.exceptions import MCPError

from server.call import Call, Principal, RequestMetadata
from server.identity import Identifier
from server.identity.caller_limits import CallerLimits
from server.identity.tool_access import ToolAccess
from server.pipeline import Pipeline
from server.results import call_tool_result
from server.telemetry.answers import when_sent
from server.transport.http.bounds.subscriptions import Subscriptions
from server.transport.request import Context, call_of, caller_of_request, metadata_and_bearer
from server.transport.store_server import INSTRUCTIONS, NAME, TITLE, StoreServer, quietly
from server.transport.tool_list_changes import ToolListChanges
from server.transport.tool_listing import ToolListing
from tools.registry import Registry
from tools.schema.text import visible
from tools.store.failures import Failure

NOBODY = Principal(scopes=frozenset())


class Protocol:
    """Answers what MCP asks. `mcp` is the server that every transport runs."""

    def __init__(
        self,
        version: str,
        registry: Registry,
        access: ToolAccess,
        identifier: Identifier,
        limits: CallerLimits,
        pipeline: Pipeline,
        on_sent: Callable[[Call], None],
    ) -> None:
        """`on_sent` is told of each call whose answer is with the socket."""
        self._registry = registry
        self._on_sent = on_sent
        self._access = access
        self._identifier = identifier
        self._limits = limits
        self._pipeline = pipeline
        self._process_session = uuid.uuid4().hex
        self._listing = ToolListing(registry, access)
        self.tool_list_changes = ToolListChanges(InMemorySubscriptionBus())
        self.subscriptions = Subscriptions(self.tool_list_changes.bus)
        self.mcp = self._server(version)

    def _server(self, version: str) -> Server[Any]:
        server = StoreServer(
            NAME,
            version=version,
            title=TITLE,
            instructions=INSTRUCTIONS,
            # Otherwise the SDK lists the tools before each 2026 call, identification of the caller included.
            get_tool_input_schema=self._input_schema,
            on_subscriptions_listen=self.subscriptions,
        )
        # Registered this way because they answer plain dicts: a model would be built only to be dumped again.
        server.add_request_handler("tools/list", types.PaginatedRequestParams, quietly(self.list_tools))
        server.add_request_handler("tools/call", types.CallToolRequestParams, quietly(self.call_tool))
        # The SDK's own spans would be a second one for each call; ours is the event of the telemetry stage.
        server.middleware.clear()
        server.add_notification_handler("notifications/initialized", types.NotificationParams, self.initialized)
        return server

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Returns what the SDK compares `Mcp-Param-*` headers with, whoever calls; None for a name that is no tool."""
        registered = self._registry.get(name)
        return None if registered is None else registered.tool.input_schema

    async def initialized(self, ctx: Context, params: types.NotificationParams) -> None:
        """Notes that a 2025 connection is ready: from now on it hears of changed tools."""
        self.tool_list_changes.join(ctx.session)

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        """Answers with one page."""
        if params.cursor:
            raise MCPError(types.INVALID_PARAMS, "There is no such cursor: the tools are one page.")
        return self._listing.result(await self._proven(ctx))

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        """Answers with a result. There is a JSON-RPC error only for a name that never was a tool."""
        tool = self._registry.get(params.name)
        if tool is None:
            raise self._unknown(ctx, params.name, await self._proven(ctx))
        call = call_of(ctx, tool, params.arguments or {}, self._process_session)
        result = call_tool_result(call, await self._pipeline.run(call))
        when_sent(ctx.request, partial(self._on_sent, call))
        return result

    async def _proven(self, ctx: Context) -> Principal:
        """Tells who asks. Here nobody argues about the user: where that cannot be proven, it is what the bearer alone may
        use."""
        metadata, bearer = metadata_and_bearer(ctx)
        for believed in (RequestMetadata() if metadata.user_conflict else metadata, RequestMetadata()):
            try:
                return await self._identifier.identify(believed, bearer)
            except Failure:
                continue
        return NOBODY

    def _unknown(self, ctx: Context, name: str, principal: Principal) -> MCPError:
        if wait_ms := self._limits.charge(caller_of_request(ctx, principal, self._process_session)):
            details = {"name": "RATE_LIMITED", "retry_after_ms": wait_ms}
            return MCPError(types.INVALID_PARAMS, "Too many calls were refused. Wait a moment.", details)
        theirs = {tool.name for tool in self._access.listed(principal)}
        nearest = [each for each in self._registry.nearest(name) if each in theirs]
        hint = f" Did you mean: {', '.join(nearest)}?" if nearest else ""
        message = f"Unknown tool: {visible(name[:100])!r}.{hint}"
        return MCPError(types.INVALID_PARAMS, message, {"name": "TOOL_NOT_FOUND", "nearest": nearest})
