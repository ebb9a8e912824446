"""What a call asks of memory at its beginning, and what it gets."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic_core import from_json

from session import keys
from session.history import HistoryEntry, LastShown
from session.preferences import Preference
from session.resilience.deadline import Span
from session.turn import Turn, TurnRequest

LARGEST_BYTES = 256 * 1024
"""A result larger than this is not kept: one odd answer must not fill the cache."""


@dataclass(frozen=True, slots=True)
class CachedResult:
    """A result and when it was made (seconds since the epoch)."""

    value: dict[str, Any]
    made_at: float

    def age_seconds(self, now: float) -> float:
        return max(0.0, now - self.made_at)


def digest(*parts: object) -> str:
    """26 base32 characters (130 bits) for anything JSON can say; equal values give equal digests."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return _base32(text, 26)


def encode(value: Mapping[str, Any], now: float) -> bytes | None:
    """The stored form: "MILLISECONDS JSON". None when it is too large to keep. Half a character is kept as a question mark:
    a result must not be lost to what nobody can write."""
    stored = f"{round(now * 1000)} {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}".encode("utf-8", "replace")
    return stored if len(stored) <= LARGEST_BYTES else None


def decode(stored: bytes | None) -> CachedResult | None:
    """None for nothing and for anything that is not of this form: a cache that lies is a cache miss."""
    if not stored:
        return None
    made_at, _, text = stored.partition(b" ")
    try:
        value = from_json(text)
        made = int(made_at) / 1000
    except (ValueError, RecursionError):
        return None
    return CachedResult(value, made) if isinstance(value, dict) else None


def result_set_name(title_ids: Sequence[str]) -> str:
    """`rs_` and 80 bits of the ids' hash: the same hits have the same name, and no user is in it."""
    return f"rs_{_base32(' '.join(title_ids), 16)}"


def _base32(text: str, length: int) -> str:
    hashed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    # 20 bytes are 32 characters, as many as anybody asks for, and encoding them is most of the work.
    return base64.b32encode(hashed[:20]).decode()[:length].lower()


class ClaimState(StrEnum):
    """What became of an idempotency key: it is free and now this call's, another call is at work under it, a result stands
    there, or it was used with other arguments. The values are what claim.lua answers."""

    NEW = "new"
    RUNNING = "running"
    DONE = "done"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Claim:
    """What is known of an idempotency key. When it is DONE, `stored` is its record, and `result` what that says; None when
    it cannot be read."""

    state: ClaimState
    result: CachedResult | None = None
    stored: bytes | None = None

    @classmethod
    def read(cls, answer: list[bytes] | None) -> Claim | None:
        """What claim.lua answers; None where it was not asked."""
        if answer is None:
            return None
        state = ClaimState(answer[0].decode())
        return cls(state, decode(answer[1]), answer[1]) if state is ClaimState.DONE else cls(state)


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """A call's wish for an idempotency key: the `record` it stands under, a hash of tool and `arguments`, who claims it."""

    record: str
    arguments: str
    claimant: str


@dataclass(frozen=True, slots=True)
class BeginRequest:
    """All that a call wants to know at its beginning; None leaves a question out. `history`: how many calls to summarise;
    `preferences`: the key of their copy; `own_fields`: those of `session.history.own_fields`; `span` notes the trip."""

    session: str | None
    user: str | None
    turn: TurnRequest
    limited: bool
    claim: ClaimRequest | None = None
    cached: str | None = None
    result_set: str | None = None
    history: int | None = None
    preferences: str | None = None
    own_fields: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def session_keys(self) -> keys.SessionKeys | None:
        return keys.SessionKeys(self.session, self.user) if self.session else None

    @property
    def shared_turn(self) -> tuple[str, str] | None:
        """The keys of a turn that other calls may know of; None for a turn of this call alone. Of two anonymous callers
        without a session nobody can tell whether they are one, and one must not use up the other's turn of the same name."""
        if session := self.session_keys:
            return session.base, session.turns
        if self.user is None or not self.turn.name.named:
            return None
        return keys.sessionless_turn(self.user, self.turn.name.value)


@dataclass(frozen=True, slots=True)
class Begun:
    """What is known. `retry_after_ms` over 0 means that the caller is over its limit; `last` is what was shown last, None
    for nothing yet; `shared` what tools share, by key; `listened` tells whether somebody wants to
    hear when the session's history grows; `history` has the last calls, latest first, None where it is not known,
    and so `preferences`, where there is no copy of them. `said` is what Redis said of the conversation, field by field, at
    `clock_ms` of its own clock; `forgotten` tells that this process has made good for what it did not know any more."""

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
    said: Mapping[bytes, bytes | None] = field(default_factory=dict)
    clock_ms: int | None = None
    forgotten: bool = False

    @property
    def last_ids(self) -> tuple[str, ...]:
        return self.last.title_ids if self.last else ()
