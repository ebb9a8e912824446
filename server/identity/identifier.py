"""Identification of callers: the interface, and the identifiers of MANGA_AUTH=none and token."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from server.call import Bearer, Principal, RequestMetadata, Vouched
from server.config.followed_file import follow_file
from server.config.parsing import SettingError
from server.identity.request_metadata import checked_user
from session.keys import user_hash
from tools.store.failures import Forbidden


class Unproven(Exception):
    """The bearer token is missing or invalid. The message is for its sender and reveals nothing of its content."""


class CannotTell(Exception):
    """Callers cannot be verified at the moment: the issuer's keys are missing."""


class Identifier(Protocol):
    """Turns stated and proven identity into a principal."""

    async def admit(self, bearer: str | None) -> str | None:
        """Admits a request at the edge. Returns an id of the principal without a secret, None with MANGA_AUTH=none. Raises
        `Unproven`, `CannotTell`."""
        ...

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        """Returns the caller. Raises `Forbidden`; `InvalidArguments` for a malformed user; `DependencyFailure` while nobody
        can be verified."""
        ...

    async def vouch(self, bearer: str | None, tokens: Mapping[str, str]) -> Vouched:
        """Verifies the bearer and the named `tokens` for another process. The result is JSON and holds none of them."""
        ...


class TrustEverybody:
    """Believes the stated identity: on loopback that of the agent's own task, over stdio that of the parent process.
    `user` is the customer where none is stated."""

    def __init__(self, user: str | None = None) -> None:
        self._user = user

    async def admit(self, bearer: str | None) -> str | None:
        return None

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        return Principal(user=checked_user(metadata.user or self._user))

    async def vouch(self, bearer: str | None, tokens: Mapping[str, str]) -> Vouched:
        return Vouched()


class TrustTokens:
    """One of several secrets proves the agent, which may then state the user. Several allow rotation without a gap; all are
    compared each time, in constant time."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tuple(token.encode() for token in tokens)

    async def admit(self, bearer: str | None) -> str | None:
        if bearer is None or not self._is_valid(bearer):
            raise Unproven("A valid bearer token is needed.")
        return user_hash(bearer)

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        known = bearer.bearer is True if isinstance(bearer, Vouched) else bearer is not None and self._is_valid(bearer)
        if not known:
            raise Forbidden("The agent's token is missing or wrong.")
        return Principal(agent="agent", user=checked_user(metadata.user))

    async def vouch(self, bearer: str | None, tokens: Mapping[str, str]) -> Vouched:
        return Vouched(bearer is not None and self._is_valid(bearer))

    async def follow(self, read: Callable[[], Sequence[str]]) -> None:
        """Replaces the secrets as their file changes, until cancelled. A file that is unreadable or empty changes
        nothing."""

        def read_any() -> Sequence[str]:
            if not (tokens := read()):
                raise SettingError("MANGA_AUTH_TOKENS_FILE: there is no token in it")
            return tokens

        await follow_file("MANGA_AUTH_TOKENS_FILE", read_any, self._replace)

    def _replace(self, tokens: Sequence[str]) -> str | None:
        fresh = tuple(token.encode() for token in tokens)
        if fresh == self._tokens:
            return None
        self._tokens = fresh
        return f"the accepted tokens have changed; there are {len(fresh)}"

    def _is_valid(self, bearer: str) -> bool:
        given = bearer.encode("utf-8", "surrogatepass")
        matches = [hmac.compare_digest(given, token) for token in self._tokens]
        return any(matches)
