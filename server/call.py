"""A call on its way through the pipeline, and what comes out."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from session.begin import BeginRequest, Begun
from session.memory import Conversation
from session.preferences import Preference
from session.recent import StateWrite
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
"""Seconds after a call's deadline in which the ladder and the record may still wait for something: an answer is to leave
within 20 ms of it."""
LEAST_STEP = 0.004
"""What each of them gets at least, for what is there at once."""


@dataclass(frozen=True, slots=True)
class RequestMetadata:
    """What the request says of itself, read once from `_meta`, headers and baggage, unproven and unchecked.

    Everything is text as it came; None where nothing was said.
    """

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
    """Who has been proven. `agent` is the bearer's own name; `user` is the customer, None when anonymous;
    `scopes` None means that everything is granted."""

    agent: str | None = None
    user: str | None = None
    scopes: frozenset[str] | None = None

    @property
    def proven(self) -> bool:
        """Tells whether a secret or a signature stands behind this, and not only somebody's word."""
        return self.agent is not None or self.scopes is not None


@dataclass(frozen=True, slots=True)
class Vouched:
    """Whom another process of the fleet has proven, in place of the tokens, which stay there: `bearer` by the header, None
    for nobody; `tokens` by those in `_meta`, under what now stands in their place."""

    bearer: Any = None
    tokens: Mapping[str, Any] = field(default_factory=dict)


Bearer = str | Vouched


@dataclass(slots=True)
class Call:
    """One tool call. `arrived` is in seconds of `clock`; `origin` is the transport's principal, where one was proven;
    `client` is who waits for the answer. The fields below the line are filled by the stages named beside them."""

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
    span: Span | None = None  # telemetry, and each stage for its time: what is done now, where somebody watches
    principal: Principal = field(default_factory=Principal)  # identity
    session: str | None = None  # identity
    expected_calls: int = 1  # identity
    may_use: MayUse = NO_TOOL  # identity: which tools they may use
    variant: str | None = None  # identity: by which of its flag's segments the tool is on
    validated: bool = False  # validate
    begin_request: BeginRequest | None = None  # session
    begun: Begun | None = None  # session
    conversation: Conversation | None = None  # session: to be read back, where there is one
    history: str | None = None  # session: what came before, where the caller asked for it
    preferences: tuple[Preference, ...] = ()  # session: what its customer has asked to be remembered
    obeys: str = ""  # session: a hash of these, which results are cached by
    deadline: Deadline | None = None  # session
    tokens: int = 0  # session: what was given, as far as it is known when the call is recorded
    room: int | None = None  # shorten: weight of tokens that notes may still come to
    whole: Json | None = None  # shorten: the value of which a part was given
    packed: bytes = b""  # shorten: the same as its session keeps it; empty where it does not
    flight: Deadline | None = None  # cache: that of the work itself, which equal calls may share
    impersonal: bool = False  # validate: it was asked for somebody who is not the caller
    notes: list[str] = field(default_factory=list)  # anyone: what the model should know of the answer
    degraded: set[str] = field(default_factory=set)  # anyone: what the answer had to do without
    descended: bool = False  # fallback: the rungs below were tried
    left: Sequence[StateWrite] = ()  # session: what later calls of the conversation may refer to
    pending_writes: list[Step] = field(default_factory=list)  # anyone: what is written at the end, in one trip

    @property
    def name(self) -> str:
        return self.tool.tool.name

    @property
    def customer(self) -> str | None:
        """Returns whose own things may be in the answer; None for nobody's."""
        return None if self.impersonal else self.principal.user

    @property
    def turn(self) -> Turn | None:
        return self.begun.turn if self.begun else None

    def late_end(self, seconds: float) -> Deadline:
        """Gives a step of the ladder `seconds` from now, or less where the answer would then leave too long after the
        call's deadline."""
        end = Deadline.after(seconds, self.clock)
        if self.deadline is None:
            return end
        return end.sooner_of(Deadline(max(self.deadline.at + PAST_DEADLINE, end.at - seconds + LEAST_STEP), end.clock))

    def elapsed_ms(self) -> float:
        return (self.clock() - self.arrived) * 1000


LIVE, CACHE, STALE, FALLBACK = "live", "cache", "stale", "fallback"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: a `value`, or a `failure`. `as_of` is when the value was made (seconds since the epoch),
    `text` the value as JSON once somebody needed it, `weight` how much that is in parts of a token, `content` what goes to
    the client beside it and is kept nowhere."""

    value: Json | None = None
    failure: Failure | None = None
    source: str = LIVE
    fallback: str | None = None
    as_of: float | None = None
    text: str | None = None
    weight: int = 0
    content: tuple[Content, ...] = ()

    @property
    def succeeded(self) -> bool:
        return self.failure is None


Handler = Callable[[Call], Coroutine[Any, Any, Outcome]]
