"""The port between processes: one message to one process, known by its name."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection
from typing import NoReturn, Protocol

NAME = re.compile(r"[0-9a-f]{12}")


class Unreached(Exception):
    """Nobody has received it, now."""


class Unsure(Unreached):
    """It was sent, and nobody knows whether it was received."""


class Gone(Unreached):
    """Nor ever will: that process has ended, and its sessions with it."""


class Relay(Protocol):
    """`own` is the name of this process, new with each start."""

    @property
    def own(self) -> str: ...

    def known(self) -> set[str]:
        """Names those that can be seen without asking anybody, this process perhaps among them."""
        ...

    async def ready(self) -> None:
        """Waits until others can reach this process, a quarter of a second at most. Never raises."""
        ...

    async def send(self, to: str, message: bytes) -> None:
        """Raises `Gone`, `Unreached` where nobody took it within a moment, or `Unsure`. What was taken is heard,
        once, in the order it was sent, but for large messages, which others may overtake; it may be lost with the way there,
        which `Missed` then tells."""
        ...

    async def gone(self, names: Collection[str]) -> set[str]:
        """Tells which of these processes have certainly ended."""
        ...

    async def keep(self, heard: Heard, missed: Missed) -> NoReturn:
        """Listens until it is cancelled."""
        ...

    async def aclose(self) -> None:
        """Tells the others that this process ends."""
        ...


Heard = Callable[[bytes], None]
"""It neither waits nor fails."""
Missed = Callable[[], None]
"""Something may have been lost on its way here."""


def new_name() -> str:
    return secrets.token_hex(6)
