"""`resources/*`: what there is to read, and reading it."""

from __future__ import annotations

from collections.abc import Container, Set
from functools import partial
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from server.call import Principal
from server.identity.tool_access import ToolAccess, granted
from server.transport.askers import Askers, one_page
from server.transport.calls import Calls
from server.transport.changes.own_updates import OwnUpdates
from server.transport.extensions import Extensions
from server.transport.primitives.answers import cache_scope, meta_of, read_result
from server.transport.primitives.watchers import Watchers
from server.transport.request import Context
from tools.primitive_registry import PrimitiveRegistry, Served
from tools.primitives.resource import Resource, ResourceTemplate
from tools.schema.text import visible

Json = dict[str, Any]
LIST_TTL_MS = 1000
NOT_TOLD = "Nobody is told when this changes: read it again when its ttlMs are over."


class Resources:
    """Only those are listed, and answered to, that the caller's token grants."""

    def __init__(
        self,
        registry: PrimitiveRegistry,
        access: ToolAccess,
        extensions: Extensions,
        askers: Askers,
        calls: Calls,
        watchers: Watchers,
        updates: OwnUpdates,
    ) -> None:
        self._registry = registry
        self._access = access
        self._extensions = extensions
        self._askers = askers
        self._calls = calls
        self._watchers = watchers
        self._updates = updates

    async def list(self, ctx: Context, params: types.PaginatedRequestParams) -> Json:
        """Answers `resources/list` with one page."""
        one_page(params, "resources")
        principal = await self._askers.principal(ctx)
        shared = {each.name for each in self._extensions.shared_with(ctx.session)}
        tools = {tool.name for tool in self._access.listed(principal)} if shared else set()
        listed = [
            {"uri": each.value.uri, **_described(each.value), **meta_of(each.value)}
            for each in self._registry.resources
            if _theirs(each, principal) and _wanted(each.value, shared, tools)
        ]
        return _page("resources", listed, private=principal.scopes is not None or bool(shared))

    async def templates(self, ctx: Context, params: types.PaginatedRequestParams) -> Json:
        """Answers `resources/templates/list` with one page."""
        one_page(params, "templates")
        principal = await self._askers.principal(ctx)
        listed = [
            {"uriTemplate": each.value.uri_template.text, **_described(each.value)}
            for each in self._registry.templates
            if _theirs(each, principal)
        ]
        return _page("resourceTemplates", listed, private=principal.scopes is not None)

    async def read(self, ctx: Context, params: types.ReadResourceRequestParams) -> Json:
        """Answers `resources/read`; what there is not is an error with the address in its data."""
        uri = str(params.uri)
        served, variables = await self._found(ctx, uri)
        answer = partial(read_result, served.value, uri)
        return await self._calls.run(ctx, served.run, {**variables, "uri": uri}, answer)

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> Json:
        """Answers `resources/subscribe` of the 2025 era."""
        uri = str(params.uri)
        served, _ = await self._found(ctx, uri)
        if not _theirs(served, principal := await self._askers.principal(ctx)):
            raise self._missing(ctx, principal, uri)
        if not served.value.subscribable:
            raise MCPError(types.INVALID_PARAMS, NOT_TOLD, {"uri": uri})
        if not self._watchers.watch(
            ctx.session, uri, await self._updates.listen(uri, self._askers.session(ctx), principal.user)
        ):
            raise MCPError(types.INVALID_PARAMS, "This connection watches as many resources as it may.", {"uri": uri})
        return {}

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> Json:
        """Answers `resources/unsubscribe` of the 2025 era, also for what was never subscribed to."""
        uri, session = str(params.uri), self._askers.session(ctx)
        owner = self._updates.owner(uri, session, (await self._askers.principal(ctx)).user)
        self._watchers.forget(ctx.session, uri, owner)
        return {}

    async def _found(self, ctx: Context, uri: str) -> tuple[Served[Resource] | Served[ResourceTemplate], dict[str, str]]:
        if (found := self._registry.at(uri)) is not None:
            return found
        raise self._missing(ctx, await self._askers.principal(ctx), uri)

    def _missing(self, ctx: Context, principal: Principal, uri: str) -> MCPError:
        message = f"There is no resource {visible(uri[:100])!r}."
        return self._askers.refusal(ctx, principal, message, {"uri": uri, "name": "NOT_FOUND"})


def _theirs(served: Served[Any], principal: Principal) -> bool:
    return granted(served.run.tool, principal)


def _wanted(resource: Resource, shared: Container[str], tools: Set[str]) -> bool:
    """Whether its client has use for it: with every one, unless it is of an extension."""
    return not resource.extension or (resource.extension in shared and not tools.isdisjoint(resource.of_tools))


def _described(value: Resource | ResourceTemplate) -> Json:
    return {"name": value.name, "title": value.title, "description": value.description, "mimeType": value.mime_type}


def _page(name: str, listed: list[Json], *, private: bool) -> Json:
    return {"resultType": "complete", name: listed, "ttlMs": LIST_TTL_MS, "cacheScope": cache_scope(private)}
