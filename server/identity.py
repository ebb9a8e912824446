"""Who is believed: one identifier for each value of MANGA_AUTH."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Protocol

from server.call import Principal, Stated
from server.stated import checked_user
from session.keys import user_hash
from tools.failures import Forbidden


class Identifier(Protocol):
    """Turns what was stated and what was proven into a principal."""

    def admits(self, bearer: str | None) -> bool:
        """Whether the edge lets a request with this bearer token in at all."""
        ...

    def name(self, bearer: str) -> str:
        """What tells the bearers of different tokens apart, and gives none of them away."""
        ...

    async def identify(self, stated: Stated, bearer: str | None) -> Principal:
        """Raises `Forbidden`, or `InvalidArguments` for a malformed user."""
        ...


class TrustEverybody:
    """MANGA_AUTH=none: the identity is as stated. For loopback only, where the caller is the agent's own task; and for
    stdio, where it is the parent process."""

    def admits(self, bearer: str | None) -> bool:
        return True

    def name(self, bearer: str) -> str:
        return "anyone"

    async def identify(self, stated: Stated, bearer: str | None) -> Principal:
        return Principal(user=checked_user(stated.user))


class TrustTokens:
    """MANGA_AUTH=token: one of several secrets proves the agent, which may then state the user.

    Several, so that they can be rotated without a gap. Compared in constant time, all of them each time.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tuple(token.encode() for token in tokens)

    def admits(self, bearer: str | None) -> bool:
        given = (bearer or "").encode("utf-8", "surrogateescape")
        matches = [hmac.compare_digest(given, token) for token in self._tokens]
        return any(matches)

    def name(self, bearer: str) -> str:
        return user_hash(bearer)

    async def identify(self, stated: Stated, bearer: str | None) -> Principal:
        if not self.admits(bearer):
            raise Forbidden("The agent's token is missing or wrong.")
        return Principal(agent="agent", user=checked_user(stated.user))
