"""The key that the processes of a fleet share, to seal and open one another's messages."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from contextlib import suppress
from typing import NoReturn

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from session.failures import MemoryUnavailable
from session.keys import FLEET_KEY
from session.redis.keyvalue import Command, KeyValue
from session.resilience.deadline import Deadline

BYTES = 32
AGAIN_SECONDS = 0.25


class FleetKey:
    """A key derived from a configured `secret`, or created once in the shared Redis; without either it is this process's
    own. `ring` has the present key first, then earlier ones."""

    def __init__(self, secret: str | None = None, redis: KeyValue | None = None) -> None:
        self._redis = None if secret else redis
        self.ring = [hashlib.sha256(secret.encode()).digest() if secret else secrets.token_bytes(BYTES)]
        self.agreed = asyncio.Event()
        self._hurried = asyncio.Event()
        if self._redis is None:
            self.agreed.set()

    def derive_keys(self, purpose: bytes) -> list[bytes]:
        """Returns the keys for one purpose, in the order of the ring."""
        return [HKDF(SHA256(), BYTES, None, b"manga/" + purpose).derive(key) for key in self.ring]

    def hurry(self) -> None:
        """Makes the next comparison of the key with the other processes' soon."""
        self._hurried.set()

    async def keep(self) -> NoReturn:
        """Keeps in agreement with the others until cancelled; writes the key again to a Redis that lost it."""
        while self._redis is not None:
            try:
                await self._agree(self._redis)
                pause = 10.0
            except MemoryUnavailable:
                pause = AGAIN_SECONDS
            self._hurried.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._hurried.wait()
                    await asyncio.sleep(AGAIN_SECONDS)
        await asyncio.get_running_loop().create_future()
        raise AssertionError("it runs until it is cancelled")

    async def _agree(self, redis: KeyValue) -> None:
        """Compares this key with the fleet's, and adopts or writes it. Raises `MemoryUnavailable`."""
        steps = [Command(("SET", FLEET_KEY, self.ring[0], "NX")), Command(("GET", FLEET_KEY))]
        _, found = await redis.trip(steps, Deadline.after(0.5))
        if not isinstance(found, bytes) or len(found) != BYTES:
            raise MemoryUnavailable("there is no key of the fleet in Redis, and none could be put there")
        if found != self.ring[0]:
            self.ring = [found, *self.ring][:3]
        self.agreed.set()
