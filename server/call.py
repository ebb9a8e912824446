"""A call on its way through the pipeline, and its outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from session.begin import Begun
from session.memory import Conversation
from session.preferences import Preference
from session.redis.keyvalue import Step
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline, Span
from session.turn import Turn
from tools.contract import NO_TOOL, SILENT, Client, MayUse
from tools.registry import Registered
from tools.results.content import Content
from tools.store.failures import Failure

Json = dict[str, Any]
PAST_DEADLINE = 0.01
"""Seconds after a call's deadline that the ladder and the record may use: an answer leaves within 20 ms of its deadline."""
LEAST_STEP = 0.004
"""Least seconds of such a step."""


@dataclass(frozen=True, slots=True)
class RequestMetadata:
    """The request's own statements, read once from `_meta`, headers and baggage; neither proven nor checked. None:
    absent."""

    session: str | None = None
    turn: str | None = None
    trace: str | None = None
    user: str | None = None
    user_conflict: bool = False
    turn_budget_ms: str | int | float | None = None
    token_budget: str | int | float | None = None
    expected_calls: str | int | float | None = None
    idempotency_key: str | None = None
    user_token: str | None = field(default=None, repr=False)
    traceparent: str | None = None
    history: str | int | float | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """The proven identity. `agent` is the bearer's own name; `user` is the customer, None when anonymous; `scopes` None
    grants every tool."""

    agent: str | None = None
    user: str | None = None
    scopes: frozenset[str] | None = None

    @property
    def is_proven(self) -> bool:
        """True if a secret or a signature stands behind this identity."""
        return self.agent is not None or self.scopes is not None


@dataclass(frozen=True, slots=True)
class Vouched:
    """Identities that another process of the fleet has proven; the tokens stay there. `bearer` is the header's, None where
    there was none; `tokens` are those of `_meta`, by the placeholder that replaces each."""

    bearer: Any = None
    tokens: Mapping[str, Any] = field(default_factory=dict)


Bearer = str | Vouched


@dataclass(slots=True)
class Call:
    """One tool call. `arrived` is in seconds of `clock`; `origin` is the transport's principal, where one was proven;
    `client` waits for the answer. The fields below the line are set by the stages named beside them."""

    call_id: str
    tool: Registered
    arguments: Json
    metadata: RequestMetadata
    arrived: float
    address: str | None = None
    origin: str | None = None
    transport: str = "http"
    transport_session: str | None = None
    bearer: Bearer | None = field(default=None, repr=False)
    clock: Clock = field(default=time.monotonic, repr=False)
    client: Client = field(default=SILENT, repr=False)
    # ---
    span: Span | None = None  # telemetry and run_stage: what the call does now, where it is observed
    principal: Principal = field(default_factory=Principal)  # identity
    session: str | None = None  # identity
    expected_calls: int = 1  # identity
    may_use: MayUse = NO_TOOL  # identity: tells which tools the caller may use
    variant: str | None = None  # identity: the segment of the tool's flag that the caller is in
    validated: bool = False  # validate
    impersonal: bool = False  # validate: the arguments name another user than the caller
    begun: Begun | None = None  # session
    conversation: Conversation | None = None  # session: reads the session back
    history: str | None = None  # session: the summary of earlier calls, where the caller asked for it
    preferences: tuple[Preference, ...] = ()  # session: what the customer has asked to be remembered
    obeys: str = ""  # session: a hash of these, part of the cache key
    deadline: Deadline | None = None  # session
    tokens: int = 0  # session: estimate of the answer, once the call is recorded
    descended: bool = False  # fallback: the rungs below the tool were tried
    flight: Deadline | None = None  # cache: of the work itself, which equal calls share
    notes: list[str] = field(default_factory=list)  # any: what the model should know of the answer
    degraded: set[str] = field(default_factory=set)  # any: what the answer lacks
    pending_writes: list[Step] = field(default_factory=list)  # any: written in the end trip

    @property
    def name(self) -> str:
        return self.tool.tool.name

    @property
    def customer(self) -> str | None:
        """The user whose personal data the answer may hold; None if it may hold none."""
        return None if self.impersonal else self.principal.user

    @property
    def opened(self) -> Begun:
        """The value of `begun`, for stages inside the session stage."""
        assert self.begun is not None
        return self.begun

    @property
    def due(self) -> Deadline:
        """The value of `deadline`, for stages inside the session stage."""
        assert self.deadline is not None
        return self.deadline

    @property
    def turn(self) -> Turn | None:
        return self.begun.turn if self.begun else None

    def late_end(self, seconds: float) -> Deadline:
        """The end of a step of the ladder: `seconds` from now, or sooner so that the answer is not late."""
        end = Deadline.after(seconds, self.clock)
        if self.deadline is None:
            return end
        return end.sooner_of(Deadline(max(self.deadline.at + PAST_DEADLINE, end.at - seconds + LEAST_STEP), end.clock))

    def elapsed_ms(self) -> float:
        return (self.clock() - self.arrived) * 1000


LIVE, CACHE, STALE, FALLBACK = "live", "cache", "stale", "fallback"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A `value` or a `failure`. `as_of` is when the value was made (seconds since the epoch), `text` the value as JSON once
    it was needed, `weight` that text's in parts of a token, `content` the blocks beside it, which are never stored. `room`
    is the weight that notes may add; `packed` is the whole value behind a shortened one, for its session to keep."""

    value: Json | None = None
    failure: Failure | None = None
    source: str = LIVE
    fallback: str | None = None
    as_of: float | None = None
    text: str | None = None
    weight: int = 0
    content: tuple[Content, ...] = ()
    room: int | None = None
    packed: bytes = b""

    @property
    def has_succeeded(self) -> bool:
        return self.failure is None


Handler = Callable[[Call], Coroutine[Any, Any, Outcome]]
