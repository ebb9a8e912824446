"""The methods about resources, prompts, completions and log messages, there only while there is something to offer."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Set
from functools import partial
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from server.call import Call, Outcome, Principal
from server.identity.tool_access import ToolAccess, granted
from server.results import content_blocks, envelope, within_bounds
from server.transport.calls import Calls, LogLevels
from server.transport.changes import OwnUpdates
from server.transport.messages import Extensions
from server.transport.request import Askers, Context, one_page
from server.transport.store_server import StoreServer, quietly
from server.transport.watchers import Watchers
from tools.primitive_registry import PrimitiveRegistry, Served
from tools.primitives.read import OTHERS, TYPED, arguments_of
from tools.primitives.resource import Prompt, Resource, ResourceTemplate
from tools.registry import Registry
from tools.schema.text import remove_hidden
from tools.store.failures import CallerFailure

Json = dict[str, Any]


def read_result(resource: Resource | ResourceTemplate, uri: str, call: Call, outcome: Outcome) -> Json:
    value_of(call, outcome, uri=uri)
    return {
        "resultType": "complete",
        "contents": [block["resource"] | meta_of(resource) for block in _blocks(outcome, uri=uri)],
        "ttlMs": resource.ttl_ms,
        "cacheScope": cache_scope(resource.private or bool(resource.scope)),
    }


def prompt_result(prompt: Prompt, call: Call, outcome: Outcome) -> Json:
    roles = value_of(call, outcome)["roles"]
    blocks = _blocks(outcome)
    messages = [{"role": role, "content": block} for role, block in zip(roles, blocks, strict=True)]
    return {"resultType": "complete", "description": prompt.description, "messages": messages}


def completion_result(call: Call, outcome: Outcome) -> Json:
    value = value_of(call, outcome)
    more = value["total"] > len(value["values"])
    return {"resultType": "complete", "completion": {**value, "hasMore": more}}


def value_of(call: Call, outcome: Outcome, **also: str) -> Json:
    """Returns the value. Raises the failure: the caller's to mend is -32602, all else -32603; `also` goes into the data,
    beside what a failed tool would have said there."""
    if outcome.failure is None:
        return outcome.value or {}
    error = envelope(call, outcome.failure)["error"]
    code = types.INVALID_PARAMS if isinstance(outcome.failure, CallerFailure) else types.INTERNAL_ERROR
    raise MCPError(code, error["message"], {**also, "name": error["name"], **error["data"]})


def _blocks(outcome: Outcome, **also: str) -> list[Json]:
    """Returns all of the content. Raises where it is not whole: unlike a tool's, it is all that there is."""
    if not outcome.content or len(within_bounds(outcome.content)) < len(outcome.content):
        raise MCPError(types.INTERNAL_ERROR, "There is nothing in it, or more than is served.", also)
    return content_blocks(outcome.content)


def meta_of(value: Resource | ResourceTemplate) -> Json:
    """What it says of itself, in the list and with what is read: some hosts heed the one, some the other."""
    return {"_meta": value.meta} if isinstance(value, Resource) and value.meta else {}


def cache_scope(private: bool) -> str:
    return "private" if private else "public"


NOTHING: Json = {"resultType": "complete", "completion": {"values": [], "total": 0, "hasMore": False}}


class Completions:
    """An argument that exists and that nobody has proposals for is answered with none."""

    def __init__(self, registry: PrimitiveRegistry, askers: Askers, calls: Calls) -> None:
        self._registry = registry
        self._askers = askers
        self._calls = calls

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> Json:
        served, argument = self._of(params.ref), params.argument
        if served is None or argument.name not in arguments_of(served.value):
            principal = await self._askers.principal(ctx)
            message = "There is no such argument of a prompt or a template here."
            raise self._askers.refusal(ctx, principal, message, {"name": "NOT_FOUND"})
        completion = served.completions.get(argument.name)
        if completion is None:
            return NOTHING
        others = dict((params.context.arguments if params.context else None) or {})
        arguments = {TYPED: argument.value, OTHERS: others}
        return await self._calls.run(ctx, completion, arguments, completion_result)

    def _of(self, ref: types.PromptReference | types.ResourceTemplateReference) -> Served[Any] | None:
        if isinstance(ref, types.PromptReference):
            return self._registry.prompt(ref.name)
        return self._registry.template(str(ref.uri))


LIST_TTL_MS = 1000


class Prompts:
    """Only those are listed, and made, that the caller's token grants."""

    def __init__(self, registry: PrimitiveRegistry, askers: Askers, calls: Calls) -> None:
        self._registry = registry
        self._askers = askers
        self._calls = calls

    async def list(self, ctx: Context, params: types.PaginatedRequestParams) -> Json:
        """Answers `prompts/list` with one page."""
        one_page(params, "prompts")
        principal = await self._askers.principal(ctx)
        listed = [_listed(each.value) for each in self._registry.prompts if granted(each.run.tool, principal)]
        scope = cache_scope(principal.scopes is not None)
        return {"resultType": "complete", "prompts": listed, "ttlMs": LIST_TTL_MS, "cacheScope": scope}

    async def get(self, ctx: Context, params: types.GetPromptRequestParams) -> Json:
        """Answers `prompts/get`."""
        served = self._registry.prompt(params.name)
        if served is None:
            principal = await self._askers.principal(ctx)
            message = f"There is no prompt {remove_hidden(params.name[:100])!r}."
            raise self._askers.refusal(ctx, principal, message, {"name": "NOT_FOUND"})
        return await self._calls.run(ctx, served.run, dict(params.arguments or {}), partial(prompt_result, served.value))


def _listed(prompt: Prompt) -> Json:
    arguments = [
        {"name": each.name, "description": each.description, "required": each.required} for each in prompt.arguments
    ]
    return {"name": prompt.name, "title": prompt.title, "description": prompt.description, "arguments": arguments}


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
        message = f"There is no resource {remove_hidden(uri[:100])!r}."
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


class PrimitiveMethods:
    """Handlers, and by the first word of a method whether there is anything behind it."""

    def __init__(
        self,
        tools: Registry,
        primitives: PrimitiveRegistry,
        access: ToolAccess,
        extensions: Extensions,
        askers: Askers,
        calls: Calls,
        watchers: Watchers,
        updates: OwnUpdates,
        levels: LogLevels,
    ) -> None:
        self._resources = Resources(primitives, access, extensions, askers, calls, watchers, updates)
        self._prompts = Prompts(primitives, askers, calls)
        self._completions = Completions(primitives, askers, calls)
        self._levels = levels
        self._offered: Mapping[str, Callable[[], bool]] = {
            "resources": lambda: bool(primitives.resources or primitives.templates),
            "prompts": lambda: bool(primitives.prompts),
            "completion": lambda: primitives.completes,
            "logging": lambda: any(tool.logs for tool in tools),
        }

    def offers(self, method: str) -> bool:
        offered = self._offered.get(method.partition("/")[0])
        return offered is None or offered()

    def add_to(self, server: StoreServer) -> None:
        resources, prompts, page = self._resources, self._prompts, types.PaginatedRequestParams
        server.offers = self.offers
        server.add_request_handler("resources/list", page, quietly(resources.list))
        server.add_request_handler("resources/templates/list", page, quietly(resources.templates))
        server.add_request_handler("resources/read", types.ReadResourceRequestParams, quietly(resources.read))
        server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, quietly(resources.subscribe))
        server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, quietly(resources.unsubscribe))
        server.add_request_handler("prompts/list", page, quietly(prompts.list))
        server.add_request_handler("prompts/get", types.GetPromptRequestParams, quietly(prompts.get))
        server.add_request_handler("completion/complete", types.CompleteRequestParams, quietly(self._completions.complete))
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, quietly(self._levels.set))
