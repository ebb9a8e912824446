"""The secret key that all processes share. It seals messages between them, and state that clients send back."""

from __future__ import annotations

import asyncio
import hashlib
import secrets

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from session.failures import MemoryUnavailable
from session.keys import FLEET_KEY
from session.redis.keyvalue import Command, KeyValue
from session.resilience.deadline import Deadline
from session.resilience.tasks import wait_for

BYTES = 32
AGAIN_SECONDS = 0.25


class FleetKey:
    """The key is derived from `secret`, else shared through `redis`, else random for this process. `keys` has the current
    key first, then earlier ones. `agreed` is set once the key is the one that other processes use."""

    def __init__(self, secret: str | None = None, redis: KeyValue | None = None) -> None:
        self._redis = None if secret else redis
        self.keys = [hashlib.sha256(secret.encode()).digest() if secret else secrets.token_bytes(BYTES)]
        self.agreed = asyncio.Event()
        self._hurried = asyncio.Event()
        if self._redis is None:
            self.agreed.set()

    def derive_keys(self, purpose: bytes) -> list[bytes]:
        """Derives a key for `purpose` from each of `keys`, in their order."""
        return [HKDF(SHA256(), BYTES, None, b"manga/" + purpose).derive(key) for key in self.keys]

    def compare_soon(self) -> None:
        self._hurried.set()

    async def run(self) -> None:
        """Takes over the key in Redis, or stores the current key if Redis has none: every ten seconds, and soon after a
        failure or `compare_soon`, until cancelled. Without Redis, only waits."""
        while self._redis is not None:
            try:
                steps = [Command(("SET", FLEET_KEY, self.keys[0], "NX")), Command(("GET", FLEET_KEY))]
                _, found = await self._redis.trip(steps, Deadline.after(0.5))
                if not isinstance(found, bytes) or len(found) != BYTES:
                    raise MemoryUnavailable("there is no key of the fleet in Redis, and none could be put there")
                if found != self.keys[0]:
                    self.keys = [found, *self.keys][:3]
                self.agreed.set()
                pause = 10.0
            except MemoryUnavailable:
                pause = AGAIN_SECONDS
            self._hurried.clear()
            if await wait_for(self._hurried, pause):
                await asyncio.sleep(AGAIN_SECONDS)
        await asyncio.get_running_loop().create_future()
