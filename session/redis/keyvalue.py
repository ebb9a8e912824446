"""The narrow door to Redis: several commands at once, one trip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from session.resilience.deadline import Deadline
from session.scripts import Script

Argument = str | bytes | int
Reply = Any
"""bytes, int, list of replies, or None, as RESP2 has them."""


class Command(tuple[Argument, ...]):
    """One command as Redis takes it: `Command(("GET", key))`."""

    __slots__ = ()


class Evaluation:
    """One run of a script: atomic, over keys of one cluster slot."""

    __slots__ = ("arguments", "keys", "script")

    def __init__(self, script: Script, keys: Sequence[str], arguments: Sequence[Argument]) -> None:
        self.script = script
        self.keys = tuple(keys)
        self.arguments = tuple(arguments)

    def by_digest(self) -> Command:
        return Command(("EVALSHA", self.script.digest, len(self.keys), *self.keys, *self.arguments))

    def by_text(self) -> Command:
        """Runs and remembers the script in one go: what to send where the digest is unknown."""
        return Command(("EVAL", self.script.text, len(self.keys), *self.keys, *self.arguments))


Step = Command | Evaluation


class KeyValue(Protocol):
    """Redis, Valkey or a cluster of them."""

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        """Sends all steps together and waits for every reply; an error reply stands in its place as `MemoryRefused`.

        Steps are independent: nothing is said about their order across keys. Raises `MemoryUnavailable` when the
        replies are not all there at the deadline. What was sent may still take effect.
        """
        ...

    async def aclose(self) -> None: ...
