"""The value that describes a tool. A new tool is a module, a line in `tools/registry.py`, and a test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from session.history import LastShown
from session.preferences import Preference
from session.profile import EventKind
from session.resilience.deadline import Deadline
from tools.store.failures import ClientCannot, Violation
from tools.store.store import Store

if TYPE_CHECKING:
    import asyncio

    from session.memory import Conversation
    from tools.results.content import Content
    from tools.store.stock import StockReading


Json = dict[str, Any]
CAPABILITIES = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


@dataclass(frozen=True, slots=True)
class Question:
    """A request to the client: an MCP `method` of `CAPABILITIES` and its `params`."""

    method: str
    params: Json

    @property
    def capability(self) -> str:
        """The capability that a client must have declared."""
        return CAPABILITIES[self.method]


class Client(Protocol):
    """The client that waits for a call. `progress` and `log` never fail, and barely wait for a client that does not read."""

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Sends a progress notification if the client asked for them. `done` never decreases."""

    async def log(self, level: str, message: str) -> None:
        """Sends a log message if the client wants this level (RFC 5424, as MCP names them)."""

    def can(self, capability: str) -> bool:
        """True if the client has declared `elicitation`, `sampling` or `roots`."""

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Json]:
        """Returns the client's result for each question. Only for a tool that `asks`.

        A client of the 2026 era is asked between two calls: this raises `InputRequired`, which the tool lets pass, and the
        tool runs again from its beginning with the answers so far. Raises `ClientCannot`."""


class SilentClient:
    """The client of a call that no client waits for: it hears nothing and cannot be asked."""

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        pass

    async def log(self, level: str, message: str) -> None:
        pass

    def can(self, capability: str) -> bool:
        return False

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Json]:
        raise ClientCannot(sorted({question.capability for question in questions.values()}))


SILENT: Client = SilentClient()


Schema = Mapping[str, Any]


class Effect(Enum):
    """How a call changes the store's data. ADDS replaces at most what the same customer stated before."""

    READS = "reads"
    ADDS = "adds"
    REMOVES = "removes"


MayUse = Callable[[str], bool]
"""True for the name of a tool that is on for the caller and granted to them."""
NO_TOOL: MayUse = frozenset[str]().__contains__


@dataclass(slots=True)
class ToolContext:
    """One call, as its tool sees it."""

    store: Store
    user: str | None
    """The proven user; None for an anonymous caller."""
    deadline: Deadline
    degraded: set[str] = field(default_factory=set)
    """Collects the backends missing from the result."""
    last: LastShown | None = None
    """The list that the session was shown last."""
    result_set: tuple[str, ...] | None = None
    """The title_ids of the `result_set` argument; None if it is unknown or was not given."""
    preferences: tuple[Preference, ...] = ()
    """The customer's, for a tool that `obeys_preferences`."""
    served_from_cache: bool = False
    content: list[Content] = field(default_factory=list)
    """Takes content blocks beside the result (`tools/results/content.py`)."""
    client: Client = SILENT
    may_use: MayUse = NO_TOOL
    shared: Mapping[str, str] = field(default_factory=dict)
    """Values that earlier calls left under the keys of `Tool.reads`."""
    session: Conversation | None = None
    """The session's history; None for a caller without a session."""
    turn_over: bool = False
    """True if the turn's time is used up, so that no backend was asked."""
    stock: asyncio.Task[StockReading] | None = None
    """The read of `Tool.stock_of`, for `Tool.complete`; None if it was not begun."""


Handler = Callable[[ToolContext, Json], Awaitable[Json]]
"""(context, validated arguments with defaults) to a result that satisfies the tool's output schema."""
Completion = Callable[[ToolContext, Json], Awaitable[Json]]
"""Adds what must not be cached (price, stock) to a result, whichever rung of the ladder it came from."""


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """Seconds that a result is fresh, and may then be served stale, labelled. `per_user` keeps users apart. An operator's
    setting replaces `fresh_seconds` of `text` about titles."""

    fresh_seconds: int
    stale_seconds: int
    per_user: bool = False
    text: bool = False

    def with_text_fresh_for(self, seconds: int) -> CachePolicy:
        """The policy under the operator's setting; unchanged unless it is of `text`."""
        return replace(self, fresh_seconds=seconds, stale_seconds=max(seconds, self.stale_seconds)) if self.text else self


TEXT = CachePolicy(fresh_seconds=300, stale_seconds=86_400, text=True)
"""The policy of texts about titles. A server takes `fresh_seconds` from `MANGA_CACHE_TTL_S`."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """The rung below the cache: a poorer answer made without the failing backend. Results state its `name`."""

    name: str
    handler: Handler


@dataclass(frozen=True, slots=True)
class ProfileRule:
    """An event for the user's long-term profile. `subject` makes it of the validated arguments; "" for none."""

    kind: EventKind
    subject: Callable[[Json], str]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the store: its schemas, its handler, and how the pipeline treats it."""

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    handler: Handler
    timeout_ms: int
    summary: Callable[[Json], str]
    """One line on a result, for the session's history."""
    remembered: tuple[str, ...] = ()
    """Arguments that history and logs may show."""
    words: tuple[str, ...] = ()
    """Arguments in the customer's own words, which only the history of their own session keeps."""
    audited: tuple[str, ...] = ()
    """Arguments that the audit may show."""
    cache: CachePolicy | None = None
    fallback: Fallback | None = None
    complete: Completion | None = None
    stock_of: Callable[[Json], Sequence[str]] | None = None
    """The title_ids whose stock `complete` joins: read while the handler runs."""
    shown: Callable[[Json, Json], LastShown] | None = None
    """The list of titles that a result shows, made of arguments and result."""
    shares: Callable[[Json], Mapping[str, str]] | None = None
    """Values that a result leaves for later calls of the session, by key; "" takes one back."""
    leaves: tuple[str, ...] = ()
    """The keys of `shares`: of `session.history.SHARED`, or `TOOL.key` with the tool's own name."""
    reads: tuple[str, ...] = ()
    """The keys that its calls are given in `ToolContext.shared`, its own or another tool's."""
    named_by: tuple[str, ...] = ()
    """Arguments that name the titles of a call. A call without any of them is about what the session was shown last."""
    leaves_in_profile: ProfileRule | None = None
    check: Callable[[Json], Sequence[Violation]] | None = None
    """Rules between arguments that a schema would state less clearly."""
    spelled: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    """For each argument a function that brings its text into one form before it is checked."""
    personal: bool = False
    """Every call leaves a line in the audit."""
    default_on: bool = True
    """False for an experiment, which is off where no flag names it."""
    asks: bool = False
    """May ask its client. An answer is for that call alone, so the tool has no cache."""
    logs: bool = False
    """May send its client log messages."""
    echoes: tuple[str, ...] = ()
    """Fields of a result that hold the asker's own words, which no cache keeps."""
    sheds: tuple[str, ...] | None = None
    """Fields that a result which is too long loses, in this order; None: by the output schema, from its end."""
    obeys_preferences: bool = False
    """True if the tool receives the customer's remembered preferences."""
    looks_up: bool = False
    """Reads a few records by their keys, and has slots beside those of other tools."""
    effect: Effect = Effect.READS
    replayed: Callable[[Json], Json | None] = lambda result: result
    """The part of a result that an idempotency key keeps for a repeat; None where a repeat runs again."""
    instead: str = "Tell the customer that this is not available right now."
    """Advice for the model while the tool is off."""

    def is_about_last(self, arguments: Json) -> bool:
        """True if a call with these arguments is about the titles shown last, so that its result is the session's own."""
        return bool(self.named_by) and not any(arguments.get(name) for name in self.named_by)

    @property
    def flag(self) -> str:
        """The key of the tool in the flags document."""
        return self.name

    @property
    def is_switched(self) -> bool:
        """True if the registry has it and flags switch it."""
        return True

    @property
    def is_recorded(self) -> bool:
        """True if the session's history keeps its calls and idempotency keys count."""
        return True

    @property
    def annotations(self) -> Json:
        """MCP's hints. Calls of every tool may be repeated, and reach nothing outside of the store."""
        return {
            "title": self.title,
            "readOnlyHint": self.effect is Effect.READS,
            "destructiveHint": self.effect is Effect.REMOVES,
            "idempotentHint": True,
            "openWorldHint": False,
        }

    @property
    def scope(self) -> str:
        """The scope that a user's token must grant."""
        return f"mcp:manga-tools:{self.name}"
