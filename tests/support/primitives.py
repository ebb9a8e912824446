"""Resources and prompts of a test's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.pipeline import Kit
from tools.contract import ToolContext
from tools.primitives.resource import Contents, Message, Prompt, PromptArgument, Resource, ResourceTemplate, UriTemplate
from tools.results.content import EmbeddedText, Text

Given = Mapping[str, str]


async def echo(context: ToolContext, given: Given) -> Contents:
    """Says its variables, and who asks."""
    return [EmbeddedText(given["uri"], f"{sorted(given.items())} {context.user}")]


async def names(context: ToolContext, typed: str, others: Given) -> Sequence[str]:
    return [f"{typed}{number}{''.join(others.values())}" for number in range(120)]


async def greet(context: ToolContext, given: Given) -> Sequence[Message]:
    return [Message("user", Text(f"Hello, {given['name']}.")), Message("assistant", Text("Hello."))]


def resource(uri: str = "test://one", **changed: Any) -> Resource:
    stated: dict[str, Any] = {"name": "one", "title": "One", "description": "One thing", "handler": echo, **changed}
    return Resource(uri=uri, **stated)


def template(text: str = "test://many/{which}", **changed: Any) -> ResourceTemplate:
    stated: dict[str, Any] = {
        "name": "many",
        "title": "Many",
        "description": "Many things",
        "handler": echo,
        "completions": {"which": names},
        **changed,
    }
    return ResourceTemplate(uri_template=UriTemplate(text), **stated)


def prompt(name: str = "greet", **changed: Any) -> Prompt:
    arguments = (PromptArgument("name", "Who is greeted", required=True, completer=names), PromptArgument("how", "How"))
    stated: dict[str, Any] = {"title": "Greet", "description": "Greets", "handler": greet, "arguments": arguments, **changed}
    return Prompt(name=name, **stated)


def offering(kit: Kit) -> Kit:
    for each in (resource(), template(), prompt()):
        kit.app.primitives.register(each)
    return kit
