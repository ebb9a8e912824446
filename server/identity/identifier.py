"""What every way of proving oneself has in common."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from server.call import Bearer, Principal, RequestMetadata, Vouched
from server.config.parsing import SettingError
from server.identity.request_metadata import checked_user
from session.keys import user_hash
from tools.store.failures import Forbidden


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


class TrustEverybody:
    """The identity is as metadata. For loopback only, where the caller is the agent's own task; and for stdio, where it is
    the parent process: `user` stands for a customer whom that one cannot state."""

    def __init__(self, user: str | None = None) -> None:
        self._user = user

    async def admit(self, bearer: str | None) -> str | None:
        return None

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        return Principal(user=checked_user(metadata.user or self._user))

    async def vouch(self, bearer: str | None, tokens: Mapping[str, str]) -> Vouched:
        return Vouched()


logger = logging.getLogger(__name__)
POLL_SECONDS = 1.0


class TrustTokens:
    """One of several secrets proves the agent, which may then state the user.

    Several, so that they can be rotated without a gap. Compared in constant time, all of them each time.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tuple(token.encode() for token in tokens)

    async def admit(self, bearer: str | None) -> str | None:
        if bearer is None or not self._is_one(bearer):
            raise Unproven("A valid bearer token is needed.")
        return user_hash(bearer)

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        known = bearer.bearer is True if isinstance(bearer, Vouched) else bearer is not None and self._is_one(bearer)
        if not known:
            raise Forbidden("The agent's token is missing or wrong.")
        return Principal(agent="agent", user=checked_user(metadata.user))

    async def vouch(self, bearer: str | None, tokens: Mapping[str, str]) -> Vouched:
        return Vouched(bearer is not None and self._is_one(bearer))

    async def follow(self, read: Callable[[], Sequence[str]]) -> None:
        """Takes the secrets from a file as they change, until cancelled: those that are gone prove nothing any more. A
        file that cannot be read, or is empty for a moment, changes nothing."""
        trouble = False
        while True:
            await asyncio.sleep(POLL_SECONDS)
            why = "MANGA_AUTH_TOKENS_FILE: there is no token in it"
            try:
                tokens = await asyncio.to_thread(read)
            except SettingError as error:
                tokens, why = (), str(error)
            if not tokens and not trouble:
                logger.warning("%s; the tokens stay as they were", why)
            if tokens and trouble:
                logger.info("MANGA_AUTH_TOKENS_FILE can be read again")
            trouble = not tokens
            fresh = tuple(token.encode() for token in tokens) or self._tokens
            if fresh != self._tokens:
                self._tokens = fresh
                logger.info("the accepted tokens have changed; there are %d", len(fresh))

    def _is_one(self, bearer: str) -> bool:
        given = bearer.encode("utf-8", "surrogatepass")
        matches = [hmac.compare_digest(given, token) for token in self._tokens]
        return any(matches)
