"""The extensions of the protocol that this server speaks. A room that has gone takes its line here with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from tools.cards.extension import cards
from tools.primitive_registry import PRIMITIVES, PrimitiveRegistry
from tools.primitives.extension import Extension
from tools.primitives.prompt import Prompt
from tools.resources.policies import resources_of
from tools.store.identifiers import Identifiers
from tools.store.models.policies import Policies

EXTENSIONS: Sequence[Callable[[], Extension]] = [
    cards,
]


async def open_extensions(extensions: Sequence[Callable[[], Extension]] = EXTENSIONS) -> list[Extension]:
    """Opens them on a thread, since they read files. Raises what a wrong file raises."""
    return await asyncio.to_thread(lambda: [opened() for opened in extensions])


def with_resources(extensions: Sequence[Extension], identifiers: Identifiers, policies: Policies) -> PrimitiveRegistry:
    """The shop's policies, the built-in primitives with the examples of the shop's identifiers, then those of extensions.
    Raises `NameTaken`."""
    built_in = (_with_examples(each, identifiers) if isinstance(each, Prompt) else each for each in PRIMITIVES)
    return PrimitiveRegistry(
        (*resources_of(policies), *built_in, *(resource for each in extensions for resource in each.resources))
    )


def _with_examples(prompt: Prompt, identifiers: Identifiers) -> Prompt:
    arguments = (replace(each, description=identifiers.adapt(each.description)) for each in prompt.arguments)
    return replace(prompt, arguments=tuple(arguments))
