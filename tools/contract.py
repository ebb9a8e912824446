"""What a tool is: a value. A new one is a module, a line in `tools/registry.py`, and a test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from session.history import LastShown
from session.profile import EventKind
from session.resilience.clocks import Now, utc_now
from session.resilience.deadline import Deadline
from tools.store.catalog.names import TitleNames
from tools.store.catalog.popular import PopularTitles
from tools.store.catalog.reader import TitleReader
from tools.store.failures import Violation
from tools.store.ports import CatalogPort, OrdersPort, ProfilePort, StockPort, TitlesPort
from tools.store.stock.reader import StockReader

Json = dict[str, Any]
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Store:
    """Everything a tool may reach. All of it is guarded: a call through it ends by its deadline. `titles` reads by id,
    through `catalog` and `records`. `stock_port` is what `stock` reads through, for those who want to know how it fares;
    `now` is the wall clock."""

    catalog: CatalogPort
    stock: StockReader
    orders: OrdersPort
    popular: PopularTitles
    stock_port: StockPort
    profiles: ProfilePort
    titles: TitleReader
    records: TitlesPort
    names: TitleNames = field(default_factory=TitleNames)
    now: Now = utc_now


@dataclass(slots=True)
class ToolContext:
    """One call, as its tool sees it. `user` is the proven user or None; `degraded` collects what had to be left out;
    `last` is what the conversation was shown last, None for nothing yet; `result_set` the ids of the one that was named."""

    store: Store
    user: str | None
    deadline: Deadline
    degraded: set[str] = field(default_factory=set)
    last: LastShown | None = None
    result_set: tuple[str, ...] | None = None
    served_from_cache: bool = False


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
    """`remembered` is the allowlist of arguments that history and logs may show, `audited` that of the audit, which
    every call of a `personal` tool leaves a line in. `instead` is what to tell a model
    when the tool is switched off. `spelled` forgives how the text of an argument is written. `check` is for rules between
    arguments that a schema would state less clearly."""

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    handler: Handler
    timeout_ms: int
    summary: Callable[[Json], str]
    remembered: tuple[str, ...] = ()
    audited: tuple[str, ...] = ()
    cache: CachePolicy | None = None
    fallback: Fallback | None = None
    complete: Completion | None = None
    shown: Callable[[Json, Json], LastShown] | None = None
    leaves_in_profile: ProfileRule | None = None
    check: Callable[[Json], Sequence[Violation]] | None = None
    spelled: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    personal: bool = False
    instead: str = "Tell the customer that this is not available right now."

    @property
    def flag(self) -> str:
        """What switches the tool: its own name."""
        return self.name

    @property
    def annotations(self) -> Json:
        """MCP's hints: every tool of this store reads, changes nothing, may be repeated, and stays within the store."""
        return {
            "title": self.title,
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        }

    @property
    def scope(self) -> str:
        """What a user's token must grant for this tool."""
        return f"mcp:manga-tools:{self.name}"
