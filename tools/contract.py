"""Defines `Tool` and the types that its functions use. To add a tool, write a module and a test, and list the tool in
`tools/registry.py`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from session.history import LastShown
from session.preferences import Preference
from session.profile import EventKind
from session.resilience.deadline import Deadline
from tools.store.failures import ClientLacksCapability, Violation
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
    """A request from the server to the client: an MCP `method` (a key of `CAPABILITIES`) and the `params` of that method."""

    method: str
    params: Json

    @property
    def capability(self) -> str:
        return CAPABILITIES[self.method]


class Client:
    """The client of a call. `progress` and `log` never raise, and drop messages rather than wait long for a slow client.
    This class is for calls that no client waits for, and sends nothing; transports use a subclass."""

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Sends a progress notification if the client asked for it. `done` must not decrease; a `total` of None is
        unknown."""

    async def log(self, level: str, message: str) -> None:
        """Sends a log message if the client wants messages of this level. `level`: an RFC 5424 level under its MCP name."""

    def can(self, capability: str) -> bool:
        """True if the client has declared the capability: `elicitation`, `sampling` or `roots`."""
        return False

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Json]:
        """Sends the questions to the client and returns the client's results under the same keys. Only for a tool with
        `Tool.asks`. A client of MCP's 2026 version answers between two calls: `ask` raises `InputRequired`, which the
        tool must not catch. The handler then runs again from the start, with the answers so far. Raises
        `ClientLacksCapability` if the client has not declared the capability that a question needs, or does not answer."""
        raise ClientLacksCapability(sorted({question.capability for question in questions.values()}))


SILENT = Client()


Schema = Mapping[str, Any]


class Effect(Enum):
    """Effect of a call on the store's data. `ADDS` overwrites nothing except earlier statements of the same customer."""

    READS = "reads"
    ADDS = "adds"
    REMOVES = "removes"


MayUse = Callable[[str], bool]
"""Predicate on a tool's name: True if the tool is switched on for the caller and within their scopes."""
NO_TOOL: MayUse = frozenset[str]().__contains__


@dataclass(slots=True)
class ToolContext:
    store: Store
    user: str | None
    """The authenticated user; None for an anonymous caller."""
    deadline: Deadline
    degraded: set[str] = field(default_factory=set)
    """Names of the backends and parts, such as "stock" or "taste", that are missing from the result."""
    last: LastShown | None = None
    """The list of titles that was last shown in the session."""
    result_set: tuple[str, ...] | None = None
    """The title_ids of the `result_set` argument; None if it is unknown or was not given."""
    preferences: tuple[Preference, ...] = ()
    """The customer's remembered preferences, for a tool that `obeys_preferences`."""
    served_from_cache: bool = False
    content: list[Content] = field(default_factory=list)
    """Content blocks to send beside the result (`tools/results/content.py`)."""
    client: Client = SILENT
    may_use: MayUse = NO_TOOL
    shared: Mapping[str, str] = field(default_factory=dict)
    """Values that earlier calls of the session left, for the keys in `Tool.reads`."""
    session: Conversation | None = None
    """The session's history; None for a caller without a session."""
    turn_over: bool = False
    """True if the turn's time was used up when the call began (`Turn.exhausted`)."""
    stock: asyncio.Task[StockReading] | None = None
    """The running stock read of `Tool.stock_of`, for `Tool.complete`; None if not started."""


Handler = Callable[[ToolContext, Json], Awaitable[Json]]
"""Maps (context, validated arguments with defaults) to a result that satisfies the tool's output schema."""


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """Lifetimes of a tool's cached results, in seconds from creation. A result is fresh for `fresh_seconds`. It is then
    served as stale: for as long again during a refresh, and up to `stale_seconds` if a backend fails. `per_user`: users
    do not share cache entries. `text`: results are texts about titles; MANGA_CACHE_TTL_S replaces their `fresh_seconds`."""

    fresh_seconds: int
    stale_seconds: int
    per_user: bool = False
    text: bool = False


TEXT = CachePolicy(fresh_seconds=300, stale_seconds=86_400, text=True)
"""Cache policy of texts about titles. A server takes `fresh_seconds` from `MANGA_CACHE_TTL_S`."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """A handler that is used if a backend fails and neither cache nor standby has a result. It returns a poorer result
    without that backend; `name` labels the result."""

    name: str
    handler: Handler


@dataclass(frozen=True, slots=True)
class ProfileRule:
    """Adds an event to a signed-in user's long-term profile after a call with a live or fresh cached result. `subject`:
    derives the event's subject from the validated arguments; with "" no event is added."""

    kind: EventKind
    subject: Callable[[Json], str]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the store: its schemas, its handler, and how the pipeline treats its calls."""

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    handler: Handler
    timeout_ms: int
    summary: Callable[[Json], str]
    """Returns one line on a result, for the session's history."""
    remembered: tuple[str, ...] = ()
    """Names of arguments that history and logs may contain."""
    words: tuple[str, ...] = ()
    """Names of arguments with the customer's own words, kept only in the history of their session."""
    audited: tuple[str, ...] = ()
    """Names of arguments that the audit log may contain."""
    cache: CachePolicy | None = None
    fallback: Fallback | None = None
    complete: Handler | None = None
    """Adds uncached data (price, stock) to a result, whether it is live, cached or from the fallback. Maps (context, result)
    to the whole result."""
    stock_of: Callable[[Json], Sequence[str]] | None = None
    """Returns, from the arguments, the title_ids whose stock `complete` adds. That stock is read while the handler runs."""
    shown: Callable[[Json, Json], LastShown] | None = None
    """Returns the list of titles that a result shows, from arguments and result."""
    shares: Callable[[Json], Mapping[str, str]] | None = None
    """Returns, from a result, values for later calls of the session, by key; "" deletes a value."""
    leaves: tuple[str, ...] = ()
    """Keys that `shares` may set: of `session.history.SHARED`, or `TOOL.key` with the tool's own name."""
    reads: tuple[str, ...] = ()
    """Keys of the values in `ToolContext.shared`, set by this tool or another."""
    named_by: tuple[str, ...] = ()
    """Names of arguments that name titles. A call without any of them is about the titles shown last."""
    leaves_in_profile: ProfileRule | None = None
    check: Callable[[Json], Sequence[Violation]] | None = None
    """Returns violations of rules between arguments, which the schema does not express."""
    spelled: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    """Normalisers by argument name, applied to text before validation."""
    personal: bool = False
    """True if every call is written to the audit log."""
    default_on: bool = True
    """False for an experimental tool, which is off unless a flag names it."""
    asks: bool = False
    """True if the tool may ask its client questions. Its results then hold for one call only, so it must have no cache."""
    logs: bool = False
    """True if the tool may send log messages to its client."""
    sheds: tuple[str, ...] | None = None
    """Paths (`tools/results/shortening.py`) to drop, in order, from too long a result; None: those of `list_sheddable`."""
    obeys_preferences: bool = False
    """True if the tool receives the customer's remembered preferences."""
    looks_up: bool = False
    """True if the tool reads a few records by key. While all general concurrency slots are taken, it may use extra ones."""
    effect: Effect = Effect.READS
    replayed: Callable[[Json], Json | None] = lambda result: result
    """Returns the part of a result to store under the call's idempotency key; None if a repeated call is to run again."""
    instead: str = "Tell the customer that this is not available right now."
    """Advice for the model while the tool is off."""

    def is_about_last(self, arguments: Json) -> bool:
        """True if the tool has `named_by` and the call has none of these arguments. The call is then about the titles
        shown last, and its result depends on the session."""
        return bool(self.named_by) and not any(arguments.get(name) for name in self.named_by)

    @property
    def is_primitive(self) -> bool:
        """True for a resource, prompt, completion or method: no flag switches it off, no history records its calls, and its
        results are not shortened."""
        return False

    @property
    def annotations(self) -> Json:
        """MCP tool annotations. Every tool is idempotent and touches nothing outside the store."""
        return {
            "title": self.title,
            "readOnlyHint": self.effect is Effect.READS,
            "destructiveHint": self.effect is Effect.REMOVES,
            "idempotentHint": True,
            "openWorldHint": False,
        }

    @property
    def scope(self) -> str:
        return f"mcp:manga-tools:{self.name}"
