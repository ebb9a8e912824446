"""What a call asks of memory at its beginning, and what it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from session import keys
from session.history import HistoryEntry, LastShown
from session.preferences import Preference
from session.resilience.timeline import Interval
from session.result_cache import CachedResult, decode
from session.turn import Turn, TurnRequest


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
    """All that a call wants to know at its beginning. None leaves a question out; `history` is asked for with the number of
    calls that are to be summarised, `preferences` with the key of their copy. `interval` is where the trip is noted."""

    session: str | None
    user: str | None
    turn: TurnRequest
    limited: bool
    claim: ClaimRequest | None = None
    cached: str | None = None
    result_set: str | None = None
    history: int | None = None
    preferences: str | None = None
    interval: Interval | None = field(default=None, compare=False, repr=False)

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


@dataclass(slots=True)
class Begun:
    """What is known. `retry_after_ms` over 0 means that the caller is over its limit; `last` is what was shown last, None
    for nothing yet; `shared` what tools share by name (`session.history.SHARED`); `listened` tells whether somebody wants to
    hear when the session's history grows; `history` has the last calls, latest first, None where it is not known,
    and so `preferences`, where there is no copy of them. `said` is what Redis said of the conversation, field by field, at
    `clock_ms` of its own clock; `forgotten` tells that this process has made good for what it did not know any more."""

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
