"""What an extension of the protocol is: a value. Nothing of one is told to a client that has not declared it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.primitives.resource import Resource
from tools.store.store import Store

Json = dict[str, Any]
Understood = Callable[[Any], Json | None]
"""Of what a client declares of the extension, in whatever form that came: what is used of it, or None where it is nothing
that can be used. A connection keeps it, so that it is small whatever was declared."""
OfResult = Callable[[Store, str, Json], Json]
"""Of the store as this process has it, a tool's name and a result of it: what its `_meta` holds besides. It asks no
backend."""


def nothing(store: Store, tool: str, result: Json) -> Json:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """`name` is its identifier in the capabilities of a client. `of_tools` are, by name, what the list of tools says besides
    in the `_meta` of a tool, and `of_result` is what a result says besides in its own, which no model reads. `resources`
    name the extension: they are listed for these clients alone, and read by whoever asks."""

    name: str
    understood: Understood
    of_tools: Mapping[str, Json] = field(default_factory=dict)
    of_result: OfResult = nothing
    resources: tuple[Resource, ...] = ()
