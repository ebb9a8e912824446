"""What a tool is: a value. A new one is a module, a line in `tools/registry.py`, and a test."""

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
    from tools.store.stock.reader import StockReading


Json = dict[str, Any]
CAPABILITIES = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


@dataclass(frozen=True, slots=True)
class Question:
    """What only the client can answer. `method` is one of MCP's requests to a client, `params` what that takes."""

    method: str
    params: Json

    @property
    def capability(self) -> str:
        """Names what a client must have declared to be asked this."""
        return CAPABILITIES[self.method]


class Client(Protocol):
    """`progress` and `log` never fail, and wait for a client that does not read for a moment at most."""

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tells how far the call is, where the client wanted to know: `done` of `total`, never less than before."""

    async def log(self, level: str, message: str) -> None:
        """Tells what happened, where the client wants messages of this level (RFC 5424, as MCP names them)."""

    def can(self, capability: str) -> bool:
        """Tells whether the client has declared `elicitation`, `sampling` or `roots`."""

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Json]:
        """Returns the client's result for each. Only for a tool that `asks`.

        A client of the 2026 era is asked between two calls: this raises `InputRequired`, which the tool lets pass, and the
        tool runs again with what it has been told so far, from its beginning. Raises `ClientCannot`."""


class SilentClient:
    """Nobody that could be spoken to: a call that no client waits for."""

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
    """What a call of a tool does to what the store keeps."""

    READS = "reads"
    """Nothing."""
    ADDS = "adds"
    """It keeps something; at most what the same customer said of the same before is replaced."""
    REMOVES = "removes"


MayUse = Callable[[str], bool]
"""Tells of a name whether it is a tool that is on for who calls, and granted to them."""
NO_TOOL: MayUse = frozenset[str]().__contains__


@dataclass(slots=True)
class ToolContext:
    """One call, as its tool sees it. `user` is the proven user or None; `degraded` collects what had to be left out;
    `last` is what the conversation was shown last, None for nothing yet; `result_set` the ids of the one that was named;
    `preferences` is what the customer has asked to be remembered, for tools that obey it;
    `content` takes what is given beside the result (`tools/results/content.py`); `client` is who waits for it, `may_use`
    tells which tools they may use; `shared` are the values that other tools left under the keys of `Tool.reads`,
    `session` is the conversation to read back, None for a caller without one; `stock` is that of the tool's `stock_of`, for
    its completion, None where it was not begun."""

    store: Store
    user: str | None
    deadline: Deadline
    degraded: set[str] = field(default_factory=set)
    last: LastShown | None = None
    result_set: tuple[str, ...] | None = None
    preferences: tuple[Preference, ...] = ()
    served_from_cache: bool = False
    content: list[Content] = field(default_factory=list)
    client: Client = SILENT
    may_use: MayUse = NO_TOOL
    shared: Mapping[str, str] = field(default_factory=dict)
    session: Conversation | None = None
    stock: asyncio.Task[StockReading] | None = None


Handler = Callable[[ToolContext, Json], Awaitable[Json]]
"""(context, validated arguments with defaults) to a result that satisfies the tool's output schema."""
Completion = Callable[[ToolContext, Json], Awaitable[Json]]
"""Adds what must not be cached (price, stock) to a result, whichever rung of the ladder it came from."""


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """How long a result is fresh, and how long after that it may stand in, labelled stale. `per_user` keeps users apart.
    `text` is for results that are text about titles: how long these are fresh is the operator's to say."""

    fresh_seconds: int
    stale_seconds: int
    per_user: bool = False
    text: bool = False

    def with_text_fresh_for(self, seconds: int) -> CachePolicy:
        """The policy where the operator has said so; of results of other kinds it is the same."""
        return replace(self, fresh_seconds=seconds, stale_seconds=max(seconds, self.stale_seconds)) if self.text else self


TEXT = CachePolicy(fresh_seconds=300, stale_seconds=86_400, text=True)


@dataclass(frozen=True, slots=True)
class Fallback:
    """The rung below the cache: a poorer answer made without the failing backend. `name` is told to the caller."""

    name: str
    handler: Handler


@dataclass(frozen=True, slots=True)
class ProfileRule:
    """What a tool leaves in its user's long-term profile: `subject` makes it of the validated arguments, "" for nothing."""

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
    """By argument: brings text into its one form before it is checked."""
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
    """Is given what its customer asked to be remembered."""
    looks_up: bool = False
    """Reads a few records by their keys, and has slots beside those of other tools."""
    effect: Effect = Effect.READS
    instead: str = "Tell the customer that this is not available right now."
    """What a model is told to do while the tool is off."""

    def is_about_last(self, arguments: Json) -> bool:
        """True if a call with these arguments is about what was shown last, so that its result is the session's own."""
        return bool(self.named_by) and not any(arguments.get(name) for name in self.named_by)

    @property
    def flag(self) -> str:
        """What switches the tool: its own name."""
        return self.name

    @property
    def switched(self) -> bool:
        """Whether flags switch it, and the registry has it."""
        return True

    @property
    def recorded(self) -> bool:
        """Whether the conversation's history keeps its calls, and a key to repeat them by is heeded."""
        return True

    @property
    def annotations(self) -> Json:
        """MCP's hints: every tool of this store may be repeated and stays within the store; most read and change nothing."""
        return {
            "title": self.title,
            "readOnlyHint": self.effect is Effect.READS,
            "destructiveHint": self.effect is Effect.REMOVES,
            "idempotentHint": True,
            "openWorldHint": False,
        }

    @property
    def scope(self) -> str:
        """What a user's token must grant for this tool."""
        return f"mcp:manga-tools:{self.name}"
