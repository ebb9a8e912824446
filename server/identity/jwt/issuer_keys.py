"""The issuer's keys, kept: fetched by one task, used by everybody, and good for a while when the issuer is away."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from server.identity.identifier import CannotTell
from server.identity.jwt.jwks import JwksError, Key, KeySet
from server.identity.jwt.jwks_source import Read
from server.identity.jwt.token_header import TokenHeader

logger = logging.getLogger(__name__)

FRESH_SECONDS = 10 * 60.0
KEPT_SECONDS = 24 * 3600.0
"""How long the last keys go on while the issuer is away."""
ASKED_SECONDS = 30.0
"""A token with an unknown key has the issuer asked at once, but not more often than this, whoever sends how many."""
WAIT_SECONDS = 0.5
"""What a request waits for such a look; the turn's clock is running."""
RETRY_SECONDS = (1.0, 30.0)


class IssuerKeys:
    """`keep_fresh` has to run. Nobody else asks the issuer."""

    def __init__(self, read: Read, clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._keys: KeySet | None = None
        self._read_at = 0.0
        self._wanted = asyncio.Event()
        self._looked = asyncio.Event()
        self._may_be_wanted_at = clock()
        self._failures = 0

    @property
    def current(self) -> KeySet | None:
        """Returns the keys; None before the first were read, and when the last are too old. It is the same object until a
        key has changed."""
        if self._keys is not None and self._clock() - self._read_at > KEPT_SECONDS:
            self._keys = None
        return self._keys

    async def key_of(self, header: TokenHeader) -> Key | None:
        """Finds the key of a token; None for one that the issuer does not have. Raises `CannotTell`."""
        keys = self.current
        if keys is None and not self._failures:
            await self._next_look()  # the server has only just started
            keys = self.current
        if keys is None:
            raise CannotTell
        if found := keys.key_of(header):
            return found
        if not self._may_look_again():
            return None
        await self._next_look()
        keys = self.current
        return keys.key_of(header) if keys else None

    async def keep_fresh(self) -> None:
        """Asks the issuer again and again, until cancelled."""
        while True:
            await self._look()
            self._looked.set()
            try:
                async with asyncio.timeout(self._pause()):
                    await self._wanted.wait()
            except TimeoutError:
                self._looked.clear()
            self._wanted.clear()

    def _may_look_again(self) -> bool:
        """Tells whether there is anything to wait for: a look that begins now, or one under way."""
        now = self._clock()
        if now >= self._may_be_wanted_at:
            self._may_be_wanted_at = now + ASKED_SECONDS
            self._looked.clear()
            self._wanted.set()
        return not self._looked.is_set()

    async def _next_look(self) -> None:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._looked.wait()
        except TimeoutError:
            pass  # whoever asks again finds what has come of it

    async def _look(self) -> None:
        try:
            keys = await self._read()
        except JwksError as error:
            self._failed(str(error))
            return
        except Exception:  # whatever it was: without this task no key would ever change again
            logger.exception("the issuer's keys could not be read")
            self._failed("they could not be read")
            return
        if self._failures:
            logger.info("MANGA_JWT_JWKS_URL answers again")
        self._failures, self._read_at = 0, self._clock()
        if self._keys is None or keys.keys != self._keys.keys:
            self._keys = keys
            told = logger.info if keys.keys else logger.warning
            told("the issuer has %d keys for this server, and %d for something else", len(keys.keys), keys.unusable)

    def _failed(self, why: str) -> None:
        """Tells of it once, however long it lasts."""
        self._failures += 1
        if self._failures == 1:
            left = "the last ones go on" if self._keys else "there are none yet, so nobody can be let in"
            logger.warning("MANGA_JWT_JWKS_URL: %s; %s", why, left)

    def _pause(self) -> float:
        least, most = RETRY_SECONDS
        return min(least * 2 ** min(self._failures - 1, 10), most) if self._failures else FRESH_SECONDS
