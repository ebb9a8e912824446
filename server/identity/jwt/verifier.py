"""From a token's text to who holds it. Each token is verified once and remembered until it expires."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

from server.identity.identifier import Unproven
from server.identity.jwt.access_token import AccessTokens
from server.identity.jwt.claims import Proven, proven
from server.identity.jwt.issuer_keys import IssuerKeys
from server.identity.jwt.jwks import KeySet
from server.identity.jwt.token_header import LONGEST_TOKEN, token_header
from session.resilience.lru import Lru

MOST_REMEMBERED = 10_000


class Verified:
    """Who holds a token, by its hash, the least lately seen forgotten first; all of them once a key of the
    issuer has gone or come, since it may have been taken away because it was stolen."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._keys: KeySet | None = None
        self._by_digest: Lru[bytes, Proven] = Lru(most)

    def find(self, digest: bytes, keys: KeySet | None, now: float) -> Proven | None:
        if keys is not self._keys:
            self._keys = keys
            self._by_digest.clear()
        known = self._by_digest.use(digest)
        if known is not None and now >= known.until:
            self._by_digest.pop(digest)
            return None
        return known

    def add(self, digest: bytes, keys: KeySet | None, known: Proven) -> None:
        if keys is self._keys:
            self._by_digest.put(digest, known)

    def __len__(self) -> int:
        return len(self._by_digest)


class Verifier:
    """Over the issuer's keys as they are kept up to date elsewhere. `clock` says when a remembered token has expired."""

    def __init__(self, keys: IssuerKeys, tokens: AccessTokens, clock: Callable[[], float] = time.time) -> None:
        self._keys = keys
        self._tokens = tokens
        self._clock = clock
        self.verified = Verified()

    async def verify(self, token: str) -> Proven:
        """Tells who holds the token. Raises `Unproven`, `CannotTell`."""
        if len(token) > LONGEST_TOKEN:
            raise Unproven("The token is no signed JWT, or too long.")
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        if known := self.verified.find(digest, self._keys.current, self._clock()):
            return known
        key = await self._keys.key_of(token_header(token))
        if key is None:
            raise Unproven("The token is signed with a key that the issuer does not have.")
        holder = proven(self._tokens.claims(token, key), self._tokens.audiences)
        self.verified.find(digest, self._keys.current, self._clock())  # what was remembered for other keys goes
        self.verified.add(digest, self._keys.current, holder)
        return holder
