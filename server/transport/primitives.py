"""MCP methods for resources, prompts, completions and log levels. A group is offered if the server has something for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict
from pydantic_core import to_json

from server.call import Call, Json, Outcome, Principal
from server.identity.tool_access import ToolAccess, allows_tool
from server.results import content_blocks, envelope
from server.transport.changes import SessionUpdates
from server.transport.listeners import Watchers
from server.transport.messages import Extensions
from server.transport.request import Context, Requests, refuse_cursor
from server.transport.tool_listing import TTL_MS
from tools.primitive_registry import OTHERS, TYPED, P, PrimitiveRegistry, Served, arguments_of, tool_for_method
from tools.primitives.resource import Method, Prompt, Resource, ResourceTemplate
from tools.registry import Register, Registered, Registry
from tools.schema.text import remove_hidden
from tools.store.failures import CallerFailure

AnyResource = Resource | ResourceTemplate
Handler = tuple[str, type[Any], Callable[[Context, Any], Awaitable[Json]]]
"""(method, type of its params, async handler)."""


def read_result(resource: AnyResource, uri: str, call: Call, outcome: Outcome) -> Json:
    _value(call, outcome, uri=uri)
    return {
        "resultType": "complete",
        "contents": [block["resource"] | _meta(resource) for block in _blocks(outcome, uri=uri)],
        "ttlMs": resource.ttl_ms,
        "cacheScope": _cache_scope(is_private=resource.private or bool(resource.scope)),
    }


def prompt_result(prompt: Prompt, call: Call, outcome: Outcome) -> Json:
    roles = _value(call, outcome)["roles"]
    messages = [{"role": role, "content": block} for role, block in zip(roles, _blocks(outcome), strict=True)]
    return {"resultType": "complete", "description": prompt.description, "messages": messages}


def completion_result(call: Call, outcome: Outcome) -> Json:
    value = _value(call, outcome)
    return {"resultType": "complete", "completion": {**value, "hasMore": value["total"] > len(value["values"])}}


def method_result(method: Method, call: Call, outcome: Outcome) -> Json:
    told = _value(call, outcome)
    return {"resultType": "complete", **told, "ttlMs": method.ttl_ms, "cacheScope": _cache_scope(is_private=True)}


def _value(call: Call, outcome: Outcome, **also: str) -> Json:
    """Returns the outcome's value. Raises its failure as `MCPError`: -32602 if the caller can correct it, else -32603.
    `also` is added to the error's data."""
    if outcome.failure is None:
        return outcome.value or {}
    error = envelope(call, outcome.failure)["error"]
    code = types.INVALID_PARAMS if isinstance(outcome.failure, CallerFailure) else types.INTERNAL_ERROR
    raise MCPError(code, error["message"], {**also, "name": error["name"], **error["data"]})


def _blocks(outcome: Outcome, **also: str) -> list[Json]:
    """Returns the content as MCP blocks. Raises `MCPError`, with `also` as its data, if there is no content or too much."""
    blocks = content_blocks(outcome.content)
    if not blocks or len(blocks) < len(outcome.content):
        raise MCPError(types.INTERNAL_ERROR, "There is nothing in it, or more than is served.", also)
    return blocks


def _meta(value: AnyResource) -> Json:
    """Returns {"_meta": …} with a resource's metadata; {} without metadata, and for a template. The list and the contents
    both carry it, since a host may read only one of them."""
    return {"_meta": value.meta} if isinstance(value, Resource) and value.meta else {}


def _cache_scope(*, is_private: bool) -> str:
    return "private" if is_private else "public"


class MethodParams(types.PaginatedRequestParams):
    """Parameters of an extension's method, read from the fields that the SDK does not know."""

    model_config = ConfigDict(extra="allow")


@dataclass(eq=False)
class PrimitiveMethods:
    """The handlers for resources, prompts, completions and log levels. A caller can list and read only the resources and
    prompts that its token grants."""

    tools: Registry
    primitives: PrimitiveRegistry
    access: ToolAccess
    extensions: Extensions
    requests: Requests
    watchers: Watchers
    updates: SessionUpdates

    def __post_init__(self) -> None:
        self._offered: Mapping[str, Callable[[], bool]] = {
            "resources": lambda: bool(self.primitives.resources or self.primitives.templates),
            "prompts": lambda: bool(self.primitives.prompts),
            "completion": lambda: self.primitives.has_completers,
            "logging": lambda: any(tool.logs for tool in self.tools),
        }

    def offers(self, name: str) -> bool:
        """Returns False if `name` is a method or a capability of a group for which the server has nothing, else True."""
        return all(is_offered() for group, is_offered in self._offered.items() if name.startswith(group))

    def handlers(self) -> list[Handler]:
        page = types.PaginatedRequestParams
        return [
            ("resources/list", page, self.list_resources),
            ("resources/templates/list", page, self.list_templates),
            ("resources/read", types.ReadResourceRequestParams, self.read_resource),
            ("resources/subscribe", types.SubscribeRequestParams, self.subscribe),
            ("resources/unsubscribe", types.UnsubscribeRequestParams, self.unsubscribe),
            ("prompts/list", page, self.list_prompts),
            ("prompts/get", types.GetPromptRequestParams, self.get_prompt),
            ("completion/complete", types.CompleteRequestParams, self.complete),
            ("logging/setLevel", types.SetLevelRequestParams, self.requests.set_level),
            *(
                (each.name, MethodParams, partial(self._answer_method, each, tool_for_method(each)))
                for each in self.extensions.methods
            ),
        ]

    async def _answer_method(self, method: Method, run: Registered, ctx: Context, params: MethodParams) -> Json:
        refuse_cursor(params, method.title)
        given = params.model_extra or {}
        arguments = {name: given[name] for name in method.required if name in given}
        return await self.requests.run(ctx, run, arguments, partial(method_result, method))

    async def list_resources(self, ctx: Context, params: types.PaginatedRequestParams) -> Json:
        """Lists the resources. A resource of an extension is listed only to clients that declare the extension. If the
        resource belongs to tools, the caller must also be allowed to use one of them."""
        principal, granted = await self._granted(ctx, params, "resources", self.primitives.resources)
        shared = {each.name for each in self.extensions.shared_with(ctx.session)}
        tools = {tool.name for tool in self.access.list_tools(principal)} if shared else set()

        def is_useful(resource: Resource) -> bool:
            of_tools = resource.of_tools
            return not resource.extension or (resource.extension in shared and not (of_tools and tools.isdisjoint(of_tools)))

        listed = [{"uri": each.uri, **_describe(each), **_meta(each)} for each in granted if is_useful(each)]
        return self._page(ctx, principal, "resources", listed, is_private=bool(shared))

    async def list_templates(self, ctx: Context, params: types.PaginatedRequestParams) -> Json:
        principal, granted = await self._granted(ctx, params, "templates", self.primitives.templates)
        listed = [{"uriTemplate": each.uri_template.text, **_describe(each)} for each in granted]
        return self._page(ctx, principal, "resourceTemplates", listed)

    async def _granted(
        self, ctx: Context, params: types.PaginatedRequestParams, what: str, register: Register[Served[P]]
    ) -> tuple[Principal, list[P]]:
        """Returns the caller, and the entries that its token grants. Raises `MCPError` for a cursor."""
        refuse_cursor(params, what)
        principal = await self.requests.identify(ctx)
        return principal, [each.value for each in register.all() if allows_tool(each.run.tool, principal)]

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> Json:
        uri = str(params.uri)
        served, variables = await self._find(ctx, uri)
        return await self.requests.run(ctx, served.run, {**variables, "uri": uri}, partial(read_result, served.value, uri))

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> Json:
        """Subscribes the connection to a resource's updates (protocol versions up to 2025). Raises `MCPError` if the caller
        may not read the resource, the resource has no updates, or the connection watches too many resources."""
        uri = str(params.uri)
        served, _ = await self._find(ctx, uri)
        if not allows_tool(served.run.tool, principal := await self.requests.identify(ctx)):
            raise self._missing(ctx, principal, uri)
        if not served.value.subscribable:
            raise MCPError(types.INVALID_PARAMS, "Changes are not announced: read it again after its ttlMs.", {"uri": uri})
        owner = await self.updates.listen((uri,), self.requests.session_of(ctx), principal.user)
        if not self.watchers.watch(ctx.session, uri, owner):
            raise MCPError(types.INVALID_PARAMS, "This connection watches as many resources as it may.", {"uri": uri})
        return {}

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> Json:
        uri, session = str(params.uri), self.requests.session_of(ctx)
        owner = self.updates.owner((uri,), session, (await self.requests.identify(ctx)).user)
        self.watchers.forget(ctx.session, uri, owner)
        return {}

    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams) -> Json:
        principal, granted = await self._granted(ctx, params, "prompts", self.primitives.prompts)
        return self._page(ctx, principal, "prompts", [_describe_prompt(each) for each in granted])

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Json:
        served = self.primitives.prompts.current(params.name)
        if served is None:
            message = f"There is no prompt {remove_hidden(params.name[:100])!r}."
            raise self.requests.refusal(ctx, await self.requests.identify(ctx), message, {"name": "NOT_FOUND"})
        return await self.requests.run(ctx, served.run, dict(params.arguments or {}), partial(prompt_result, served.value))

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> Json:
        """Proposes values for an argument of a prompt or a resource template; none if the argument has no completion. Raises
        `MCPError` for an unknown argument."""
        ref, argument = params.ref, params.argument
        served: Served[Any] | None
        if isinstance(ref, types.PromptReference):
            served = self.primitives.prompts.current(ref.name)
        else:
            served = self.primitives.templates.current(str(ref.uri))
        if served is None or argument.name not in arguments_of(served.value):
            message = "There is no such argument of a prompt or a template here."
            raise self.requests.refusal(ctx, await self.requests.identify(ctx), message, {"name": "NOT_FOUND"})
        completion = served.completions.get(argument.name)
        if completion is None:
            return {"resultType": "complete", "completion": {"values": [], "total": 0, "hasMore": False}}
        others = dict((params.context.arguments if params.context else None) or {})
        return await self.requests.run(ctx, completion, {TYPED: argument.value, OTHERS: others}, completion_result)

    def _page(self, ctx: Context, principal: Principal, name: str, listed: list[Json], *, is_private: bool = False) -> Json:
        """Returns a whole list as a result. Counts its bytes; raises `MCPError` beyond the caller's limit."""
        scope = _cache_scope(is_private=is_private or principal.scopes is not None)
        result = {"resultType": "complete", name: listed, "ttlMs": TTL_MS, "cacheScope": scope}
        self.requests.charge_bytes(ctx, principal, len(to_json(result)))
        return result

    async def _find(self, ctx: Context, uri: str) -> tuple[Served[Resource] | Served[ResourceTemplate], dict[str, str]]:
        if (found := self.primitives.find_resource(uri)) is not None:
            return found
        raise self._missing(ctx, await self.requests.identify(ctx), uri)

    def _missing(self, ctx: Context, principal: Principal, uri: str) -> MCPError:
        message = f"There is no resource {remove_hidden(uri[:100])!r}."
        return self.requests.refusal(ctx, principal, message, {"uri": uri, "name": "NOT_FOUND"})


def _describe(value: AnyResource) -> Json:
    return {"name": value.name, "title": value.title, "description": value.description, "mimeType": value.mime_type}


def _describe_prompt(prompt: Prompt) -> Json:
    arguments = [
        {"name": each.name, "description": each.description, "required": each.required} for each in prompt.arguments
    ]
    return {"name": prompt.name, "title": prompt.title, "description": prompt.description, "arguments": arguments}
