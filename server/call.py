from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from session.begin import BeginResult
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
GRACE_SECONDS = 0.01
"""Seconds past a call's deadline by which fallback and last Redis trip end, so that the answer is at most 20 ms late."""
MIN_STEP_SECONDS = 0.004
"""Minimum seconds for a fallback or the last Redis round trip, even if they then end later than `GRACE_SECONDS`."""
LIVE, CACHE, STALE, FALLBACK = "live", "cache", "stale", "fallback"


@dataclass(frozen=True, slots=True)
class RequestMetadata:
    """Values that the client states in `_meta`, headers or W3C Baggage; None if absent. `expected_calls` is how many calls
    the turn still needs, this one included. `history` is how many past calls to summarise. The values are not authenticated,
    and only `traceparent`, `trace` and a session from Baggage have been checked for their format."""

    session: str | None = None
    turn: str | None = None
    trace: str | None = None
    user: str | None = None
    user_conflict: bool = False  # True if `_meta` and the header state different users
    turn_budget_ms: str | int | float | None = None
    token_budget: str | int | float | None = None
    expected_calls: str | int | float | None = None
    idempotency_key: str | None = None
    user_token: str | None = field(default=None, repr=False)
    traceparent: str | None = None
    history: str | int | float | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller, authenticated if `is_proven`. `agent` names the calling agent, None if unknown. `user` is the customer,
    None if anonymous. `scopes` None grants every tool."""

    agent: str | None = None
    user: str | None = None
    scopes: frozenset[str] | None = None

    @property
    def is_proven(self) -> bool:
        """True if a shared secret or a signed token authenticated this identity."""
        return self.agent is not None or self.scopes is not None


@dataclass(frozen=True, slots=True)
class VerifiedIdentity:
    """The result of verifying a request's tokens, sent in their place when a replica forwards the request to another.
    `bearer` is the result for the Authorization header. `tokens` maps the SHA-256 that replaces a user token in the
    forwarded request to the result for that token."""

    bearer: Any = None
    tokens: Mapping[str, Any] = field(default_factory=dict)


Bearer = str | VerifiedIdentity


LETTERS_A_CALL = 120
"""Letters of text for which a call counts once in rate limits. Longer texts count more, since reading them takes longer."""


@dataclass(slots=True)
class Call:
    """One tool call. `arrived` is in seconds of `clock`. `address` is the client's IP address, None if unknown. `origin` is
    the principal that the transport has authenticated, None if there is none. `client` sends messages to the waiting client.
    Pipeline stages set the fields below `# ---`; the comment beside a field names its stage."""

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
    span: Span | None = None  # telemetry and run_stage: the current span; None if the call records none
    principal: Principal = field(default_factory=Principal)  # identity
    session: str | None = None  # identity
    expected_calls: int = 1  # identity
    may_use: MayUse = NO_TOOL  # identity: True for the names of tools that the caller may use
    variant: str | None = None  # identity: "on", "off" or the name of the flag's segment that decided
    validated: bool = False  # validate
    names_other_user: bool = False  # validate: True if the arguments name a user other than the caller
    begin_result: BeginResult | None = None  # session: the answers of the first Redis round trip
    conversation: Conversation | None = None  # session: gives tools the session's history
    history: str | None = None  # session: the summary of earlier calls, if the caller requested it
    preferences: tuple[Preference, ...] = ()  # session: the customer's stated preferences
    preferences_hash: str = ""  # session: a hash of `preferences`, part of the cache key
    deadline: Deadline | None = None  # session
    tokens: int = 0  # session: estimated tokens of the answer, set when the call is recorded
    fallback_tried: bool = False  # fallback: True once the fallback ladder was entered
    flight_deadline: Deadline | None = None  # cache: the deadline of the single-flight work that equal calls share
    notes: list[str] = field(default_factory=list)  # any: notes on the answer for the model
    degraded: set[str] = field(default_factory=set)  # any: names of the sources that the answer lacks
    pending_writes: list[Step] = field(default_factory=list)  # any: Redis commands for the last round trip

    @property
    def cost(self) -> int:
        """How many calls this one counts for in rate limits: one for each `LETTERS_A_CALL` letters of text, at least one."""
        values = (each for value in self.arguments.values() for each in (value if isinstance(value, list) else (value,)))
        return max(1, sum(len(each) for each in values if isinstance(each, str)) // LETTERS_A_CALL)

    @property
    def name(self) -> str:
        return self.tool.tool.name

    @property
    def customer(self) -> str | None:
        """The user whose personal data the answer may contain; None if anonymous, or if the arguments name another user."""
        return None if self.names_other_user else self.principal.user

    @property
    def required_begin(self) -> BeginResult:
        """The same as `begin_result`, for stages inside the session stage, where it is never None."""
        assert self.begin_result is not None
        return self.begin_result

    @property
    def required_deadline(self) -> Deadline:
        """The same as `deadline`, for stages inside the session stage, where it is never None."""
        assert self.deadline is not None
        return self.deadline

    @property
    def turn(self) -> Turn | None:
        return self.begin_result.turn if self.begin_result else None

    def fallback_deadline(self, seconds: float) -> Deadline:
        """Returns the deadline of a fallback step that may take `seconds`. The deadline is at most `GRACE_SECONDS` after the
        call's own, but at least `MIN_STEP_SECONDS` from now."""
        end = Deadline.after(seconds, self.clock)
        if self.deadline is None:
            return end
        latest = max(self.deadline.at + GRACE_SECONDS, end.at - seconds + MIN_STEP_SECONDS)
        return Deadline(min(end.at, latest), end.clock)

    def elapsed_ms(self) -> float:
        return (self.clock() - self.arrived) * 1000


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a call: a `value` or a `failure`. `source` is LIVE, CACHE, STALE or FALLBACK; for FALLBACK, `fallback`
    is the fallback's name. `as_of` is when the value was made, in epoch seconds. `text` is the value's JSON, None until it
    is serialised, and `weight` that text's size in 1/32 tokens. `content` has further content blocks, which are not cached.
    `room` is the weight left for notes, None for no limit. If `value` was shortened, `packed` is the whole value,
    compressed, for the session's memory."""

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
