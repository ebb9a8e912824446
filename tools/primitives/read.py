"""Wraps resources, prompts, completions and extensions' methods as tools, so that the pipeline treats them like calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.contract import Fallback, Handler, Json, Tool, ToolContext
from tools.primitives.resource import (
    LONGEST_ARGUMENT,
    LONGEST_VALUE,
    MOST_VALUES,
    Completer,
    Method,
    Prompt,
    ReadHandler,
    Resource,
    ResourceTemplate,
)

LONGEST_URI = 2048
ANYTHING: Json = {"type": "object", "properties": {}, "anyOf": [{}]}
TYPED, OTHERS = "value", "others"


@dataclass(frozen=True, slots=True)
class PrimitiveTool(Tool):
    """A resource, prompt, completion or method as a tool, which no feature flag switches off and no history records.
    `granted_by`: the required scope, "" for none."""

    granted_by: str = ""

    @property
    def scope(self) -> str:
        return self.granted_by

    @property
    def is_switched(self) -> bool:
        return False

    @property
    def is_recorded(self) -> bool:
        return False


def tool_for_resource(resource: Resource | ResourceTemplate) -> PrimitiveTool:
    """Wraps a resource as a tool. Its contents become content blocks; the JSON result is empty."""
    variables = () if isinstance(resource, Resource) else resource.uri_template.variables
    schema = _texts({"uri": LONGEST_URI, **dict.fromkeys(variables, LONGEST_VALUE)}, ["uri", *variables])
    return _read(
        f"resource {resource.name}",
        resource,
        schema,
        _contents(resource.handler),
        personal=resource.personal,
        asks=resource.asks,
        fallback=Fallback(below.name, _contents(below.handler)) if (below := resource.fallback) else None,
    )


def _contents(handler: ReadHandler) -> Handler:
    async def read(context: ToolContext, arguments: Json) -> Json:
        context.content.extend(await handler(context, arguments))
        return {}

    return read


def tool_for_prompt(prompt: Prompt) -> PrimitiveTool:
    """Wraps a prompt as a tool. Its messages become content blocks; the JSON result has their roles under `roles`."""

    async def get(context: ToolContext, arguments: Json) -> Json:
        messages = await prompt.handler(context, arguments)
        context.content.extend(message.content for message in messages)
        return {"roles": [message.role for message in messages]}

    names = [argument.name for argument in prompt.arguments]
    required = [argument.name for argument in prompt.arguments if argument.required]
    schema = _texts(dict.fromkeys(names, LONGEST_ARGUMENT), required)
    return _read(f"prompt {prompt.name}", prompt, schema, get, personal=prompt.personal, asks=prompt.asks)


def tool_for_completion(owner: ResourceTemplate | Prompt, argument: str, completer: Completer) -> PrimitiveTool:
    """Wraps a completer as a tool. The result has at most `MOST_VALUES` proposals under `values`, and the number of all
    proposals under `total`."""

    async def complete(context: ToolContext, arguments: Json) -> Json:
        values = await completer(context, arguments.get(TYPED, ""), arguments.get(OTHERS, {}))
        return {"values": list(values[:MOST_VALUES]), "total": len(values)}

    schema = _texts({TYPED: LONGEST_ARGUMENT}, [])
    others = {"type": "object", "additionalProperties": {"type": "string", "maxLength": LONGEST_ARGUMENT}}
    schema["properties"][OTHERS] = others
    return _read(f"completion {owner.name} {argument}", owner, schema, complete, personal=owner.personal)


def tool_for_method(method: Method) -> PrimitiveTool:
    async def answer(context: ToolContext, arguments: Json) -> Json:
        return await method.handler(context, arguments)

    schema = _texts(dict.fromkeys(method.required, LONGEST_URI), method.required)
    return _read(f"method {method.name}", method, schema, answer)


def completers_of(owner: ResourceTemplate | Prompt) -> Mapping[str, Completer]:
    if isinstance(owner, ResourceTemplate):
        return owner.completions
    return {each.name: each.completer for each in owner.arguments if each.completer is not None}


def arguments_of(owner: ResourceTemplate | Prompt) -> Sequence[str]:
    if isinstance(owner, ResourceTemplate):
        return owner.uri_template.variables
    return [argument.name for argument in owner.arguments]


def _texts(longest: Mapping[str, int], required: Sequence[str]) -> dict[str, Any]:
    properties = {name: {"type": "string", "maxLength": most} for name, most in longest.items()}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _read(
    name: str,
    owner: Resource | ResourceTemplate | Prompt | Method,
    schema: Json,
    handler: Handler,
    *,
    personal: bool = False,
    asks: bool = False,
    fallback: Fallback | None = None,
) -> PrimitiveTool:
    return PrimitiveTool(
        name=name,
        title=owner.title,
        description=owner.description,
        input_schema=schema,
        output_schema=ANYTHING,
        handler=handler,
        timeout_ms=owner.timeout_ms,
        summary=lambda _: "",
        audited=tuple(name for name in schema["properties"] if name != OTHERS) if personal else (),
        personal=personal,
        asks=asks,
        fallback=fallback,
        granted_by=owner.scope,
    )
