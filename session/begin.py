"""First Redis round trip of a call: its request and result, and the stored forms of results and idempotency claims."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic_core import from_json

from session import keys
from session.history import HistoryEntry, LastShown
from session.preferences import Preference
from session.resilience.deadline import Span
from session.turn import Turn, TurnRequest

LARGEST_BYTES = 256 * 1024
"""Results larger than this are not stored."""


@dataclass(frozen=True, slots=True)
class CachedResult:
    """A tool result that is cached, or recorded for an idempotency key; `made_at` is in seconds since the epoch."""

    value: dict[str, Any]
    made_at: float

    def age_seconds(self, now: float) -> float:
        return max(0.0, now - self.made_at)


def digest(*parts: object) -> str:
    """Returns 26 base32 characters (130 bits) of the SHA-256 of the values as JSON, so equal values have equal digests."""
    return _base32(_to_json(parts), 26)


NONCE_BYTES = 12


@dataclass(frozen=True, slots=True)
class CacheKey:
    """The Redis key `name` of a cached or recorded result, and the `secret` that encrypts it (AES-256-GCM: SP 800-38D)."""

    name: str
    secret: bytes = field(repr=False)

    @classmethod
    def derive(cls, tool: str, form: str, *parts: object) -> CacheKey:
        """Derives both from the values as JSON. The secret is no safer than the values: who guesses them can derive it."""
        text = _to_json(("cached-result/2/aes-256-gcm", *parts))
        name = keys.cached_result(tool, form, _base32(text, 26))
        return cls(name, hmac.digest(name.encode(), text, "sha256"))

    @classmethod
    def of_record(cls, name: str, *parts: object) -> CacheKey:
        """Derives the secret of the idempotency record `name` from the values as JSON, as `derive` does."""
        text = _to_json(("idempotency-record/1/aes-256-gcm", *parts))
        return cls(name, hmac.digest(name.encode(), text, "sha256"))

    def encrypt(self, text: bytes) -> bytes:
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + AESGCM(self.secret).encrypt(nonce, text, self.name.encode())

    def decrypt(self, encrypted: bytes) -> bytes:
        """Decrypts what `encrypt` returned. Raises InvalidTag or ValueError for other bytes, and those of another key."""
        return AESGCM(self.secret).decrypt(encrypted[:NONCE_BYTES], encrypted[NONCE_BYTES:], self.name.encode())


def encode(value: Mapping[str, Any], now: float, key: CacheKey | None = None) -> bytes | None:
    """Serializes a result made at `now` (seconds since the epoch) as "MILLISECONDS JSON"; `key` encrypts the JSON. Replaces
    lone surrogates with question marks. Returns None if the text exceeds `LARGEST_BYTES`."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    stored = b"%d %s" % (round(now * 1000), text if key is None else key.encrypt(text))
    return stored if len(stored) <= LARGEST_BYTES else None


def decode(stored: bytes | None, key: CacheKey | None = None) -> CachedResult | None:
    """Parses a result that `encode` serialized, with the same `key`; returns None if it is missing or malformed."""
    if not stored:
        return None
    made_at, _, text = stored.partition(b" ")
    try:
        value = from_json(text if key is None else key.decrypt(text))
        made = int(made_at) / 1000
    except (ValueError, OverflowError, RecursionError, InvalidTag):
        return None
    return CachedResult(value, made) if isinstance(value, dict) else None


def result_set_name(title_ids: Sequence[str]) -> str:
    """Returns "rs_" and 80 bits of the ids' hash: the same ids in the same order have the same name for every user."""
    return f"rs_{_base32(' '.join(title_ids).encode('utf-8', 'surrogatepass'), 16)}"


def _to_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _base32(text: bytes, length: int) -> str:
    return base64.b32encode(hashlib.sha256(text).digest()).decode()[:length].lower()


class ClaimState(StrEnum):
    """State of an idempotency key, as claim.lua returns it. NEW: claimed by this call. RUNNING: claimed by another call,
    without a result yet. DONE: completed, with a recorded result. OTHER: used with other arguments."""

    NEW = "new"
    RUNNING = "running"
    DONE = "done"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Claim:
    """Answer to a claim on an idempotency key. If DONE, `stored` has the recorded bytes, `result` their content, or None if
    they were not encrypted for this claim."""

    state: ClaimState
    result: CachedResult | None = None
    stored: bytes | None = None

    @classmethod
    def read(cls, answer: list[bytes] | None, request: ClaimRequest | None) -> Claim | None:
        """Parses claim.lua's answer; returns None if claim.lua was not run. Raises ValueError for an unknown state."""
        if answer is None or request is None:
            return None
        state = ClaimState(answer[0].decode())
        return cls(state, decode(answer[1], request.record), answer[1]) if state is ClaimState.DONE else cls(state)


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """Claim on an idempotency key. `record`: Redis key, and secret of the recorded result. `arguments`: hash of tool and
    arguments. `claimant`: call id."""

    record: CacheKey
    arguments: str
    claimant: str


@dataclass(frozen=True, slots=True)
class BeginRequest:
    """Parts of a call's first round trip; None omits a part. `user`: None if anonymous. `cost`: how many calls it counts for
    in rate limits. `cached`, `result_set`, `preferences`: keys to read. `history`: number of past calls to summarise.
    `own_fields`: further fields of the session hash to read. `span`: parent of the round trip's span."""

    session: str | None
    user: str | None
    turn: TurnRequest
    cost: int = 1
    claim: ClaimRequest | None = None
    cached: CacheKey | None = None
    result_set: str | None = None
    history: int | None = None
    preferences: str | None = None
    own_fields: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def session_keys(self) -> keys.SessionKeys | None:
        return keys.SessionKeys.of(self.session, self.user) if self.session else None

    @property
    def shared_turn(self) -> tuple[str, str] | None:
        """Redis keys of the session and of its turns; None if the turn is of this call alone. Without a session, only a
        known user's named turn is shared, so that anonymous callers cannot use up one another's turns of the same name."""
        if session := self.session_keys:
            return session.base, session.turns
        if self.user is None or not self.turn.name.is_named:
            return None
        return keys.sessionless_turn(self.user, self.turn.name.value)


@dataclass(frozen=True, slots=True)
class BeginResult:
    """Answers of a call's first round trip; None for a part that was not asked for, is not stored or could not be read.

    `retry_after_ms`: above 0 if the call is rate limited. `last`: titles shown last. `shared`: values that tools share, by
    key. `listened`: a client has subscribed to the session. `history`: latest call first. `degraded`: Redis failed.
    `stored_fields`: fields of the session hash, as Redis returned them at `clock_ms` of its clock. `lost_by_redis`: Redis
    has lost state that this process then filled in."""

    request: BeginRequest
    turn: Turn
    retry_after_ms: int = 0
    last: LastShown | None = None
    claim: Claim | None = None
    cached: CachedResult | None = None
    result_set: tuple[str, ...] | None = None
    preferences: tuple[Preference, ...] | None = None
    degraded: bool = False
    shared: Mapping[str, str] = field(default_factory=dict)
    listened: bool = False
    history: tuple[HistoryEntry, ...] | None = None
    stored_fields: Mapping[bytes, bytes | None] = field(default_factory=dict)
    clock_ms: int | None = None
    lost_by_redis: bool = False

    @property
    def last_ids(self) -> tuple[str, ...]:
        return self.last.title_ids if self.last else ()
