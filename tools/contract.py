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
    tells which tools they may use; `shared` are the values that tools leave for one another (`session.history.SHARED`),
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
    """`remembered` is the allowlist of arguments that history and logs may show, `words` are those in the customer's own
    words, which only the history of their own session keeps, `audited` is the allowlist of the audit, which every call of a
    `personal` tool leaves a line in; `shares` tells of a result what later calls may refer to without naming it, "" for what
    none can refer to any more; `echoes` are the fields of a result that hold the asker's own words, which no cache keeps;
    `sheds` are the fields that a result which is too long loses, in this order; None: by the output schema, from its end.
    `instead` is what to tell a model when the tool is switched off; `default_on` is False for an
    experiment, which is off where no flag names it. `spelled` forgives how an argument is written that came as text. `check`
    is for rules between arguments that a schema would state less clearly. One that `asks` may ask its client something, one
    that `logs` may send it log messages: what a client answered is for that call alone, so that such a tool has no cache.
    One that `obeys_preferences` is given what its customer has asked to be remembered. `stock_of` are the titles, by its
    arguments, whose stock its completion joins: that is read while the tool runs. One that `looks_up` reads a few records by
    their keys, and has places beside those of the others. `effect`: what it does."""

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    handler: Handler
    timeout_ms: int
    summary: Callable[[Json], str]
    remembered: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    audited: tuple[str, ...] = ()
    cache: CachePolicy | None = None
    fallback: Fallback | None = None
    complete: Completion | None = None
    stock_of: Callable[[Json], Sequence[str]] | None = None
    shown: Callable[[Json, Json], LastShown] | None = None
    shares: Callable[[Json], Mapping[str, str]] | None = None
    leaves_in_profile: ProfileRule | None = None
    check: Callable[[Json], Sequence[Violation]] | None = None
    spelled: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    personal: bool = False
    default_on: bool = True
    asks: bool = False
    logs: bool = False
    echoes: tuple[str, ...] = ()
    sheds: tuple[str, ...] | None = None
    obeys_preferences: bool = False
    looks_up: bool = False
    effect: Effect = Effect.READS
    instead: str = "Tell the customer that this is not available right now."

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
