"""The port between processes: one message to one process, known by its name."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable, Collection
from typing import NoReturn, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from prometheus_client import CollectorRegistry, Counter, Gauge

from server.runtime.fleet_key import FleetKey

NAME = re.compile(r"[0-9a-f]{12}")


class Unreached(Exception):
    """Nobody has received it, now."""


class Unsure(Unreached):
    """It was sent, and nobody knows whether it was received."""


class Gone(Unreached):
    """Nor ever will: that process has ended, and its sessions with it."""


class Relay(Protocol):
    """`own` is the name of this process, new with each start."""

    @property
    def own(self) -> str: ...

    def known(self) -> set[str]:
        """Names those that can be seen without asking anybody, this process perhaps among them."""
        ...

    async def ready(self) -> None:
        """Waits until others can reach this process, a quarter of a second at most. Never raises."""
        ...

    async def send(self, to: str, message: bytes) -> None:
        """Raises `Gone`, `Unreached` where nobody took it within a moment, or `Unsure`. What was taken is heard,
        once, in the order it was sent, but for large messages, which others may overtake; it may be lost with the way there,
        which `Missed` then tells."""
        ...

    async def gone(self, names: Collection[str]) -> set[str]:
        """Tells which of these processes have certainly ended."""
        ...

    async def keep(self, heard: Heard, missed: Missed) -> NoReturn:
        """Listens until it is cancelled."""
        ...

    async def aclose(self) -> None:
        """Tells the others that this process ends."""
        ...


Heard = Callable[[bytes], None]
"""It neither waits nor fails."""
Missed = Callable[[], None]
"""Something may have been lost on its way here."""


def new_name() -> str:
    return secrets.token_hex(6)


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


ANSWERED, GONE, UNREACHED, LOST = "answered", "gone", "unreached", "lost"
"""What became of a request that was passed on: begun to be answered by its owner, or refused here because that has
ended, nobody took the request, or no answer came."""


class Counts:
    """`forwarded` is told of each request when it is over."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._forwarded = Counter(
            "manga_relay_forwarded", "Requests passed on to the process of their session.", ["outcome"], registry=registry
        )
        self._under_way = Gauge(
            "manga_relay_under_way", "Requests passed on, asked here and served here.", ["side"], registry=registry
        )
        self._peers = Gauge("manga_relay_peers", "Processes with which a request is under way.", registry=registry)
        for outcome in (ANSWERED, GONE, UNREACHED, LOST):
            self._forwarded.labels(outcome)

    def forwarded(self, outcome: str) -> None:
        self._forwarded.labels(outcome).inc()

    def watch(self, asked: Callable[[], float], served: Callable[[], float], peers: Callable[[], float]) -> None:
        """Asks these whenever it is looked at."""
        self._under_way.labels("asked").set_function(asked)
        self._under_way.labels("served").set_function(served)
        self._peers.set_function(peers)
