"""Registry of MCP's other primitives: resources, resource templates and prompts. Built-in primitives come first, in listed
order, then those of packages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Generic, Literal, TypeVar

from tools.primitives.read import (
    PrimitiveTool,
    completers_of,
    tool_for_completion,
    tool_for_method,
    tool_for_prompt,
    tool_for_resource,
)
from tools.primitives.resource import Method, Prompt, Resource, ResourceTemplate
from tools.prompts import continue_a_series, find_a_gift, shopping_assistant, track_my_order
from tools.registry import Register, Registered
from tools.resources.built_in import HISTORY, ORDERS, PROFILE, RESULTS, TITLES
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
    """Registers resources and templates by URI, and prompts by name. Withdrawn primitives are not served."""

    def __init__(self, primitives: Iterable[Primitive] = PRIMITIVES) -> None:
        built_in = list(primitives)
        addresses = [_key(each) for each in built_in]
        self.resources: Register[Served[Resource]] = Register(addresses)
        self.templates: Register[Served[ResourceTemplate]] = Register(addresses)
        self.prompts: Register[Served[Prompt]] = Register(addresses)
        for primitive in built_in:
            self.register(primitive)

    def __iter__(self) -> Iterator[Served[Any]]:
        return chain(self.resources, self.templates, self.prompts)

    def register(self, primitive: Primitive) -> None:
        """Adds a primitive. Raises `NameTaken` if its URI or name is registered already."""
        if isinstance(primitive, Resource):
            self.resources.register(primitive.uri, Served(primitive, _register_read(tool_for_resource(primitive))))
        elif isinstance(primitive, ResourceTemplate):
            served = Served(primitive, _register_read(tool_for_resource(primitive)), _completions(primitive))
            self.templates.register(primitive.uri_template.text, served)
        else:
            self.prompts.register(
                primitive.name, Served(primitive, _register_read(tool_for_prompt(primitive)), _completions(primitive))
            )

    def withdraw(self, primitive: Primitive) -> None:
        """Removes a primitive. Raises `NotRegistered` if it is not there."""
        self._register_of(primitive).withdraw(_key(primitive))

    def on_change(self, observer: Callable[[Kind], None]) -> None:
        """Registers `observer`, which is called after each change with "resources" (templates too) or "prompts"."""
        self.resources.on_change(partial(observer, "resources"))
        self.templates.on_change(partial(observer, "resources"))
        self.prompts.on_change(partial(observer, "prompts"))

    def find_resource(self, uri: str) -> tuple[Served[Resource] | Served[ResourceTemplate], dict[str, str]] | None:
        """Returns the resource with this URI, else the first template that matches it, with the template's variables.
        Returns None if nothing matches."""
        if uri in self.resources and (resource := self.resources.get(uri)) is not None:
            return resource, {}
        for template in self.templates:
            if (variables := template.value.uri_template.match(uri)) is not None:
                return template, variables
        return None

    def is_subscribable(self, uri: str) -> bool:
        return (found := self.find_resource(uri)) is not None and found[0].value.subscribable

    def prompt(self, name: str) -> Served[Prompt] | None:
        return self.prompts.get(name) if name in self.prompts else None

    def template(self, text: str) -> Served[ResourceTemplate] | None:
        return self.templates.get(text) if text in self.templates else None

    @property
    def has_completers(self) -> bool:
        return any(each.completions for each in (*self.templates, *self.prompts))

    def _register_of(
        self, primitive: Primitive
    ) -> Register[Served[Resource]] | Register[Served[ResourceTemplate]] | Register[Served[Prompt]]:
        if isinstance(primitive, Resource):
            return self.resources
        return self.templates if isinstance(primitive, ResourceTemplate) else self.prompts


def _key(primitive: Primitive) -> str:
    if isinstance(primitive, Prompt):
        return primitive.name
    return primitive.uri if isinstance(primitive, Resource) else primitive.uri_template.text


def registered_method(method: Method) -> Registered:
    return _register_read(tool_for_method(method))


def _completions(owner: ResourceTemplate | Prompt) -> dict[str, Registered]:
    return {name: _register_read(tool_for_completion(owner, name, each)) for name, each in completers_of(owner).items()}


def _register_read(read: PrimitiveTool) -> Registered:
    return Registered(read, ArgumentsValidator(read.input_schema), "", compile_success_check(read.output_schema))
