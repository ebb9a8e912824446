"""Whether a WebSocket's opener may still speak on it.

Each POST for an SSE stream proves its sender anew, with a fresh token where the last has expired. A WebSocket has one head
and so one token for all of its life: when that proves nobody any more, there is nothing left to be said or heard on it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from server.identity import CannotTell, Unproven

LOOK_SECONDS = 5.0
"""A look costs some microseconds: a token is verified once and remembered until it expires."""
Admit = Callable[[str | None], Awaitable[str | None]]
"""That of an `Identifier`."""


class Proof:
    """What was shown when it was opened."""

    def __init__(self, admit: Admit, bearer: str | None) -> None:
        self._admit = admit
        self._bearer = bearer

    async def holds(self) -> bool:
        """Whether it would be let in now. Where nobody can tell, what was proven stays so."""
        try:
            await self._admit(self._bearer)
        except Unproven:
            return False
        except CannotTell:
            return True
        return True

    async def over(self) -> None:
        """Waits until it holds no more."""
        while await self.holds():  # noqa: ASYNC110 - nobody tells when a token ends, or is taken back
            await asyncio.sleep(LOOK_SECONDS)


async def everybody(bearer: str | None) -> None:
    """Admits them."""
