"""What processes say to each other by way of a Redis, sealed with a key of the fleet: only one of them can have said it, and
only the one that it is for can read it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection
from typing import NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from server.runtime.fleet_key import FleetKey
from server.transport.relay.post import Heard, Missed, Relay, Unreached

PURPOSE = b"relay/1/aes-256-gcm"
NONCE_BYTES = 12
READY_SECONDS = 0.25


class SealedRelay:
    """Another relay, whose messages are sealed (AES-256-GCM, NIST SP 800-38D) for the process that they are sent to. What
    none of the keys opens was said by nobody."""

    def __init__(self, relay: Relay, key: FleetKey) -> None:
        self._relay = relay
        self._key = key
        self._away = False
        self._made_of: list[bytes] = []
        self._ciphers: list[AESGCM] = []

    @property
    def own(self) -> str:
        return self._relay.own

    def known(self) -> set[str]:
        return self._relay.known()

    async def ready(self) -> None:
        await self._relay.ready()
        if self._key.agreed.is_set() or self._away:
            return
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._key.agreed.wait()
        except TimeoutError:
            self._away = True  # once is enough, whatever becomes of it

    async def send(self, to: str, message: bytes) -> None:
        if not self._key.agreed.is_set():
            raise Unreached
        nonce = secrets.token_bytes(NONCE_BYTES)
        await self._relay.send(to, nonce + self._ring()[0].encrypt(nonce, message, to.encode()))

    async def gone(self, names: Collection[str]) -> set[str]:
        return await self._relay.gone(names)

    async def keep(self, heard: Heard, missed: Missed) -> NoReturn:
        def hear(sealed: bytes) -> None:
            if (message := self._opened(sealed)) is not None:
                heard(message)

        await self._relay.keep(hear, missed)

    async def aclose(self) -> None:
        await self._relay.aclose()

    def _opened(self, sealed: bytes) -> bytes | None:
        if len(sealed) <= NONCE_BYTES:
            return None
        nonce, rest, own = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], self.own.encode()
        for cipher in self._ring():
            try:
                return cipher.decrypt(nonce, rest, own)
            except InvalidTag:
                continue
        self._key.hurry()  # the others may have another one by now
        return None

    def _ring(self) -> list[AESGCM]:
        if self._made_of != self._key.ring:
            self._made_of = list(self._key.ring)
            self._ciphers = [AESGCM(each) for each in self._key.derived(PURPOSE)]
        return self._ciphers
