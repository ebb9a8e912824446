"""The interface between processes: frames, the `Relay` that carries them, its encryption, and its metrics."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import field
from typing import Annotated, Any, Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter
from pydantic.dataclasses import dataclass
from pydantic_core import from_json

from server.runtime.fleet_key import FleetKey
from session.resilience.tasks import wait_for

NAME = re.compile(r"[0-9a-f]{12}")
MESSAGES, SESSIONS = "messages", "sessions"
"""The two applications that a request can be for: messages of SSE streams, and Streamable HTTP."""
NONCE_BYTES = 12


def _to_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else value.encode("latin-1")


Latin1 = Annotated[bytes, PlainValidator(_to_bytes), PlainSerializer(lambda raw: raw.decode("latin-1"))]
"""Bytes that JSON holds as a string, one character per byte."""
Pairs = list[tuple[Latin1, Latin1]]


@dataclass(frozen=True, config={"populate_by_name": True})
class _Frame:
    sender: Annotated[str, Field(alias="from")]
    number: Annotated[int, Field(alias="n", strict=True)]

    def encode(self) -> bytes:
        """Returns a line of JSON, followed by the raw body if there is one."""
        return FRAME.dump_json(self, by_alias=True) + b"\n" + getattr(self, "body", b"")  # type: ignore[arg-type]


@dataclass(frozen=True, config={"populate_by_name": True})
class Ask(_Frame):
    """A forwarded request with its whole body. `sender` waits for the answer under `number`. `user` is the authenticated
    principal; `waited_ms` is the time since the request's arrival. `bearer` and `tokens` are verified identities, not tokens
    (`server.call.VerifiedIdentity`). At most `window` parts are sent before the client has taken them; 0 means no limit."""

    to: str
    method: str
    path: str
    query: Latin1
    scheme: str
    headers: Pairs
    client: tuple[str, int] | None
    user: str | None
    waited_ms: Annotated[int, Field(alias="waited")]
    body: Annotated[bytes, Field(exclude=True)]
    bearer: Any = None
    tokens: dict[str, Any] = field(default_factory=dict)
    window: int = 0
    k: Literal["ask"] = field(default="ask", kw_only=True)

    @property
    def digest(self) -> bytes:
        """A hash that is equal for equal requests of one principal, whichever process forwards them."""
        fields = (self.to, self.method, self.path, self.query.hex(), self.user or "", self.body.hex(), str(self.stream[0]))
        return hashlib.blake2b("\n".join(fields).encode(), digest_size=16).digest()

    @property
    def stream(self) -> tuple[bytes, str | None]:
        """The session id in the request's headers (b"" if there is none), and the principal."""
        return next((value for name, value in self.headers if name == b"mcp-session-id"), b""), self.user


@dataclass(frozen=True, config={"populate_by_name": True})
class Part(_Frame):
    """Part `order` (from 0) of the answer to `number`. `more`: another follows. Only part 0 has status and headers."""

    order: Annotated[int, Field(strict=True)]
    body: Annotated[bytes, Field(exclude=True)]
    more: Annotated[bool, Field(strict=True)]
    status: int = 0
    headers: Pairs = field(default_factory=list)
    k: Literal["part"] = field(default="part", kw_only=True)


@dataclass(frozen=True, config={"populate_by_name": True})
class Cancel(_Frame):
    """Tells the owner that the answer to `number` is not awaited. If `of` is `MESSAGES`, the client was told to retry."""

    of: str = SESSIONS
    k: Literal["left"] = field(default="left", kw_only=True)


@dataclass(frozen=True, config={"populate_by_name": True})
class Ack(_Frame):
    """Acknowledges that request `number` has arrived and is being served."""

    k: Literal["taken"] = field(default="taken", kw_only=True)


@dataclass(frozen=True, config={"populate_by_name": True})
class Progress(_Frame):
    """Reports that the client has taken `parts` parts of the answer to request `number`."""

    parts: Annotated[int, Field(strict=True)]
    k: Literal["progress"] = field(default="progress", kw_only=True)


Frame = Ask | Part | Cancel | Ack | Progress
FRAME: TypeAdapter[Frame] = TypeAdapter(Annotated[Frame, Field(discriminator="k")])


def decode(message: bytes) -> Frame | None:
    """Parses a frame; None if the message is not a frame."""
    line, _, body = message.partition(b"\n")
    try:
        return FRAME.validate_python({**from_json(line), "body": body})
    except (ValueError, TypeError, AttributeError):
        return None


class Unreached(Exception):
    """Raised if a message could not be sent, or the process did not respond in time; it may still have received it."""


class DeliveryUnknown(Unreached):
    """Raised if a message was sent, but it is unknown whether it was received."""


class ProcessEnded(Unreached):
    """Raised if the process has ended, and with it the sessions that it held."""


Receive = Callable[[bytes], None]
"""Takes a received message; must not block or raise."""
Missed = Callable[[], None]
"""Called when messages to this process may have been lost."""


READY_SECONDS = 0.25


class Relay(ABC):
    """The channel between processes. `own` is this process's name, new at each start. `ready_events` are set while other
    processes can reach this one."""

    def __init__(self, *ready_events: asyncio.Event) -> None:
        self.own = secrets.token_hex(6)
        self._ready_events = ready_events
        self._gave_up: set[asyncio.Event] = set()

    async def ready(self) -> None:
        """Waits until other processes can reach this one, at most `READY_SECONDS` per event. After a timeout, does not wait
        for that event again until it has been set."""
        for event in self._ready_events:
            if not event.is_set() and event in self._gave_up:
                continue
            if await wait_for(event, READY_SECONDS):
                self._gave_up.discard(event)
            else:
                self._gave_up.add(event)

    def list_processes(self) -> set[str]:
        """Returns the names of known processes, perhaps including this one, without a network round trip."""
        return set()

    @abstractmethod
    async def send(self, to: str, message: bytes) -> None:
        """Sends a message to process `to`. Messages arrive in order, except that later ones may overtake a large one. A
        message may get lost, of which the receiver learns through `Missed`. Raises `ProcessEnded`, `DeliveryUnknown` or
        `Unreached`."""

    async def send_until_received(self, to: str, message: bytes, again_seconds: float) -> None:
        """Sends a message again every `again_seconds` until it arrives. Raises `ProcessEnded`."""
        while True:
            try:
                return await self.send(to, message)
            except ProcessEnded:
                raise
            except Unreached:
                await asyncio.sleep(again_seconds)

    @abstractmethod
    async def find_ended(self, names: Collection[str]) -> set[str]:
        """Returns the names of those processes that have certainly ended."""

    @abstractmethod
    async def run(self, receive: Receive, missed: Missed) -> None:
        """Calls `receive` with each message and `missed` when messages may have been lost, until cancelled."""

    @abstractmethod
    async def aclose(self) -> None:
        """Tells the other processes that this process ends."""


class Seal:
    """Encrypts messages for the receiving process (AES-256-GCM, NIST SP 800-38D), with keys that all replicas share."""

    def __init__(self, key: FleetKey) -> None:
        self.agreed = key.agreed
        self._key = key
        self._made_of: list[bytes] = []
        self._ciphers: list[AESGCM] = []

    def seal(self, to: str, message: bytes) -> bytes:
        """Encrypts a message for process `to`. Raises `Unreached` until the replicas have agreed on a key."""
        if not self.agreed.is_set():
            raise Unreached
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._ring()[0].encrypt(nonce, message, to.encode())

    def unseal(self, own: str, sealed: bytes) -> bytes | None:
        """Decrypts a message for process `own`; None if no key decrypts it, perhaps because this process has an old key."""
        for cipher in self._ring():
            with suppress(InvalidTag, ValueError):  # ValueError: too short for a nonce
                return cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], own.encode())
        self._key.compare_soon()  # the other replicas may have a new key
        return None

    def _ring(self) -> list[AESGCM]:
        if self._made_of != self._key.keys:
            self._made_of = list(self._key.keys)
            self._ciphers = [AESGCM(each) for each in self._key.derive_keys(b"relay/1/aes-256-gcm")]
        return self._ciphers
