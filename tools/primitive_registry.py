"""Registry of MCP's other primitives: resources, resource templates and prompts. Wraps them, their completions and the
methods of extensions as tools, so that the pipeline treats them like calls. Built-in primitives come first, in listed
order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Generic, Literal, TypeVar

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
from tools.prompts import continue_a_series, find_a_gift, shopping_assistant, track_my_order
from tools.registry import Register, Registered
from tools.resources.built_in import HISTORY, ORDERS, PROFILE, RESULTS, TITLES
from tools.schema.parts import arguments
from tools.schema.validation import ArgumentsValidator, compile_success_check

Primitive = Resource | ResourceTemplate | Prompt
Kind = Literal["resources", "prompts"]
P = TypeVar("P", Resource, ResourceTemplate, Prompt)

PRIMITIVES: tuple[Primitive, ...] = (
    HISTORY,
    PROFILE,
    TITLES,
    ORDERS,
    RESULTS,
    shopping_assistant.PROMPT,
    find_a_gift.PROMPT,
    continue_a_series.PROMPT,
    track_my_order.PROMPT,
)


@dataclass(frozen=True, slots=True)
class Served(Generic[P]):
    """A primitive with the tools by which the pipeline reads it (`run`) and completes its arguments (`completions`, by
    argument)."""

    value: P
    run: Registered
    completions: Mapping[str, Registered] = field(default_factory=dict)


class PrimitiveRegistry:
    """Resources and templates by URI, and prompts by name."""

    def __init__(self, primitives: Iterable[Primitive] = PRIMITIVES) -> None:
        built_in = list(primitives)
        addresses = [_key(each) for each in built_in]
        self.resources: Register[Served[Resource]] = Register(addresses)
        self.templates: Register[Served[ResourceTemplate]] = Register(addresses)
        self.prompts: Register[Served[Prompt]] = Register(addresses)
        for primitive in built_in:
            self.register(primitive)

    def __iter__(self) -> Iterator[Served[Any]]:
        return chain(self.resources.all(), self.templates.all(), self.prompts.all())

    def register(self, primitive: Primitive) -> None:
        """Adds a primitive, or replaces the one with its URI or name."""
        key = _key(primitive)
        if isinstance(primitive, Resource):
            self.resources.exchange({key: Served(primitive, _tool_for_resource(primitive))})
        elif isinstance(primitive, ResourceTemplate):
            self.templates.exchange({key: Served(primitive, _tool_for_resource(primitive), _completions(primitive))})
        else:
            self.prompts.exchange({key: Served(primitive, _tool_for_prompt(primitive), _completions(primitive))})

    def on_change(self, observer: Callable[[Kind], None]) -> None:
        """Registers `observer`, which is called after each change with "resources" (templates too) or "prompts"."""
        self.resources.on_change(partial(observer, "resources"))
        self.templates.on_change(partial(observer, "resources"))
        self.prompts.on_change(partial(observer, "prompts"))

    def find_resource(self, uri: str) -> tuple[Served[Resource] | Served[ResourceTemplate], dict[str, str]] | None:
        """Returns the resource with this URI, else the first template that matches it, with the template's variables.
        Returns None if nothing matches."""
        if (resource := self.resources.current(uri)) is not None:
            return resource, {}
        for template in self.templates.all():
            if (variables := template.value.uri_template.match(uri)) is not None:
                return template, variables
        return None

    def is_subscribable(self, uri: str) -> bool:
        return (found := self.find_resource(uri)) is not None and found[0].value.subscribable

    @property
    def has_completers(self) -> bool:
        return any(each.completions for each in self)


def _key(primitive: Primitive) -> str:
    if isinstance(primitive, Prompt):
        return primitive.name
    return primitive.uri if isinstance(primitive, Resource) else primitive.uri_template.text


LONGEST_URI = 2048
ANYTHING: Json = {"type": "object", "properties": {}, "anyOf": [{}]}
TYPED, OTHERS = "value", "others"
"""Arguments of a completion: the text typed so far, and the other known arguments."""


@dataclass(frozen=True, slots=True)
class PrimitiveTool(Tool):
    """A resource, prompt, completion or method as a tool. `granted_by`: the required scope, "" for none."""

    granted_by: str = ""

    @property
    def scope(self) -> str:
        return self.granted_by

    @property
    def is_primitive(self) -> bool:
        return True


def _tool_for_resource(resource: Resource | ResourceTemplate) -> Registered:
    """Wraps a resource as a tool. Its contents become content blocks; the JSON result is empty."""
    variables = () if isinstance(resource, Resource) else resource.uri_template.variables
    schema = _texts({"uri": LONGEST_URI, **dict.fromkeys(variables, LONGEST_VALUE)}, ["uri", *variables])
    return _compile(
        f"resource {resource.name}",
        resource,
        schema,
        _contents(resource.handler),
        personal=resource.personal,
        asks=resource.asks,
        fallback=Fallback(below.name, _contents(below.handler)) if (below := resource.fallback) else None,
    )


def _contents(handler: ReadHandler) -> Handler:
    async def read(context: ToolContext, asked: Json) -> Json:
        context.content.extend(await handler(context, asked))
        return {}

    return read


def _tool_for_prompt(prompt: Prompt) -> Registered:
    """Wraps a prompt as a tool. Its messages become content blocks; the JSON result has their roles under `roles`."""

    async def get(context: ToolContext, asked: Json) -> Json:
        messages = await prompt.handler(context, asked)
        context.content.extend(message.content for message in messages)
        return {"roles": [message.role for message in messages]}

    required = [argument.name for argument in prompt.arguments if argument.required]
    schema = _texts(dict.fromkeys(arguments_of(prompt), LONGEST_ARGUMENT), required)
    return _compile(f"prompt {prompt.name}", prompt, schema, get, personal=prompt.personal, asks=prompt.asks)


def _completions(owner: ResourceTemplate | Prompt) -> dict[str, Registered]:
    if isinstance(owner, ResourceTemplate):
        completers = owner.completions
    else:
        completers = {each.name: each.completer for each in owner.arguments if each.completer is not None}
    return {name: _tool_for_completion(owner, name, each) for name, each in completers.items()}


def _tool_for_completion(owner: ResourceTemplate | Prompt, argument: str, completer: Completer) -> Registered:
    """Wraps a completer as a tool. The result has at most `MOST_VALUES` proposals under `values`, and the number of all
    proposals under `total`."""

    async def complete(context: ToolContext, asked: Json) -> Json:
        values = await completer(context, asked.get(TYPED, ""), asked.get(OTHERS, {}))
        return {"values": list(values[:MOST_VALUES]), "total": len(values)}

    schema = _texts({TYPED: LONGEST_ARGUMENT}, [])
    others = {"type": "object", "additionalProperties": {"type": "string", "maxLength": LONGEST_ARGUMENT}}
    schema["properties"][OTHERS] = others
    return _compile(f"completion {owner.name} {argument}", owner, schema, complete, personal=owner.personal)


def tool_for_method(method: Method) -> Registered:
    schema = _texts(dict.fromkeys(method.required, LONGEST_URI), method.required)
    return _compile(f"method {method.name}", method, schema, method.handler)


def arguments_of(owner: ResourceTemplate | Prompt) -> Sequence[str]:
    if isinstance(owner, ResourceTemplate):
        return owner.uri_template.variables
    return [argument.name for argument in owner.arguments]


def _texts(longest: Mapping[str, int], required: Sequence[str]) -> Json:
    return arguments({name: {"type": "string", "maxLength": most} for name, most in longest.items()}, required)


def _compile(
    name: str,
    owner: Resource | ResourceTemplate | Prompt | Method,
    schema: Json,
    handler: Handler,
    *,
    personal: bool = False,
    asks: bool = False,
    fallback: Fallback | None = None,
) -> Registered:
    tool = PrimitiveTool(
        name=name,
        title=owner.title,
        description=owner.title,
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
    return Registered(tool, ArgumentsValidator(schema), "", compile_success_check(ANYTHING))
