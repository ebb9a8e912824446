"""The extensions of the protocol that this server speaks. A room that has gone takes its line here with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tools.cards.extension import cards
from tools.primitive_registry import PRIMITIVES, PrimitiveRegistry
from tools.primitives.extension import Extension

EXTENSIONS: Sequence[Callable[[], Extension]] = [
    cards,
]


async def open_extensions(extensions: Sequence[Callable[[], Extension]] = EXTENSIONS) -> list[Extension]:
    """Opens them on a thread, since they read files. Raises what a wrong file raises."""
    return await asyncio.to_thread(lambda: [opened() for opened in extensions])


def with_resources(extensions: Sequence[Extension]) -> PrimitiveRegistry:
    """What is built in, and behind it what extensions bring. Raises `NameTaken`."""
    return PrimitiveRegistry((*PRIMITIVES, *(resource for each in extensions for resource in each.resources)))
