"""What every way of proving oneself has in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from server.call import Bearer, Principal, RequestMetadata, Vouched


class Unproven(Exception):
    """A bearer token that proves nobody, or none. The message is for whoever sent it, and says nothing of its content."""


class CannotTell(Exception):
    """Nobody can be proven right now, whoever they are."""


class Identifier(Protocol):
    """Turns what was stated and what was proven into a principal."""

    async def admit(self, bearer: str | None) -> str | None:
        """Lets a request in at the edge. Returns what tells this principal apart from others and gives no secret away;
        None where nobody has to prove anything. Raises `Unproven`, `CannotTell`."""
        ...

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        """Tells who calls. Raises `Forbidden`; `InvalidArguments` for a malformed user; `DependencyFailure` when nobody
        can be proven."""
        ...

    async def vouch(self, bearer: str | None, tokens: Mapping[str, str]) -> Vouched:
        """Proves the bearer that was let in, and these `tokens` by name, for another process: what is returned is JSON, and
        holds none of them."""
        ...
