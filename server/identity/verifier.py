"""From a token's text to who holds it. Each token is verified once and remembered until it expires."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

from server.identity.claims import Expected, Proven
from server.identity.compact_jws import LONGEST_TOKEN, strict_json, taken_apart
from server.identity.identifier import Unproven
from server.identity.issuer_keys import IssuerKeys
from server.identity.jwks import KeySet
from session.resilience.lru import Lru

MOST_REMEMBERED = 10_000


class Verified:
    """Holders of tokens by the hash of the token, the least lately seen forgotten first; all of them once a key of the
    issuer has gone or come, since it may have been taken away because it was stolen."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._keys: KeySet | None = None
        self._holders: Lru[bytes, Proven] = Lru(most)

    def find(self, digest: bytes, keys: KeySet | None, now: float) -> Proven | None:
        if keys is not self._keys:
            self._keys = keys
            self._holders.clear()
        holder = self._holders.use(digest)
        if holder is not None and now >= holder.until:
            self._holders.pop(digest)
            return None
        return holder

    def add(self, digest: bytes, keys: KeySet | None, holder: Proven) -> None:
        if keys is self._keys:
            self._holders.put(digest, holder)

    def __len__(self) -> int:
        return len(self._holders)


class Verifier:
    def __init__(self, keys: IssuerKeys, expected: Expected, clock: Callable[[], float] = time.time) -> None:
        self._keys = keys
        self._expected = expected
        self._clock = clock
        self.verified = Verified()

    async def holder(self, token: str) -> Proven:
        """Raises `Unproven`, `CannotTell`."""
        if len(token) > LONGEST_TOKEN:
            raise Unproven("The token is no signed JWT, or too long.")
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        if known := self.verified.find(digest, self._keys.current, self._clock()):
            return known
        stated = taken_apart(token)
        key = await self._keys.key_of(stated)
        if key is None:
            raise Unproven("The token is signed with a key that the issuer does not have.")
        if not key.signed(stated):
            raise Unproven("The token's signature is wrong.")
        now = self._clock()
        holder = self._expected.holder(strict_json(stated.payload), now)
        self.verified.find(digest, self._keys.current, now)  # what was remembered for other keys goes
        self.verified.add(digest, self._keys.current, holder)
        return holder
