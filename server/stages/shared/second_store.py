"""Another store that a tool may be run over when a backend of its own does not deliver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tools.store.store import Store


@dataclass(frozen=True, slots=True)
class SecondStore:
    """`name` is told as the fallback; `as_of` is how old what it knows is, in seconds since the epoch."""

    name: str
    store: Store
    as_of: float


Second = Callable[[str, Store], SecondStore | None]
"""Returns the second store for a tool, by its name, and its usual store; None where there is none now."""


def no_second(tool: str, store: Store) -> SecondStore | None:
    return None
