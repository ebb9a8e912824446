"""The budget of a user's turn: its time, and the tokens of its results where these are counted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from session.resilience.deadline import Deadline

LEAST_TOKENS = 150
"""With fewer left nothing is started: no result says anything in them."""
FLOOR_TOKENS = 200
"""What a call gets at least, however many are still expected, as long as there are as many left."""


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """`spent` is what the turn's calls had given when this one began. Calls in parallel do not see one another:
    together they may go over it by what each of them was allowed."""

    total: int
    spent: int = 0

    @property
    def remaining(self) -> int:
        return max(0, self.total - self.spent)

    @property
    def exhausted(self) -> bool:
        return self.remaining < LEAST_TOKENS

    def allowance(self, most: int, expected_calls: int) -> int:
        """What one call may give: a fair share of what is left, but enough to be of use, and at most so many."""
        share = max(FLOOR_TOKENS, self.remaining // max(1, expected_calls))
        return min(most, share, self.remaining)

    def after(self, tokens: int) -> TokenBudget:
        return replace(self, spent=self.spent + tokens)


def opened(configured: int, stated: int | None, known: TokenBudget | None = None) -> TokenBudget | None:
    """A turn's budget at a call that states how many tokens are left: what is known of it, else what is configured (0 for
    none), which a statement only ever shortens. None where nobody counts."""
    budget = known or (TokenBudget(configured) if configured else None)
    if stated is None:
        return budget
    total = (budget.spent if budget else 0) + stated
    return replace(budget, total=min(budget.total, total)) if budget else TokenBudget(total)


def tighter(one: TokenBudget | None, other: TokenBudget | None) -> TokenBudget | None:
    """What two who have seen a turn agree on: the lesser total and the more that was spent."""
    if one is None or other is None:
        return one or other
    return TokenBudget(min(one.total, other.total), max(one.spent, other.spent))


RESERVE_MS = 200
"""Kept back for the agent's own last words."""
FLOOR_MS = 100
"""With this or less left nothing is started."""
LADDER_MS = 50
"""Kept back from a call for a fallback and the record."""
FORGET_MS = 60_000
"""A turn is forgotten so long after its end."""
PAUSE_MS = 10_000
"""Where only the time inside calls counts, a turn that nobody named is over after so long a pause: what comes then answers
something new. A named one is over after `FORGET_MS`."""
LEASE_MS = 100
"""A call that never said that it has ended is taken to have lasted so much longer than it may."""


class TurnClock(StrEnum):
    """Which time a turn's budget counts: all of it, or that inside its calls."""

    WALL = "wall"
    TOOLS = "tools"


class TurnKind(StrEnum):
    """How a call says which turn it belongs to: by a name, by its W3C trace, or not at all, so that the session tells."""

    NAMED = "named"
    TRACE = "trace"
    IMPLICIT = "implicit"


@dataclass(frozen=True, slots=True)
class TurnName:
    """Which turn a call belongs to. Only a named one can be exhausted; the others are replaced."""

    kind: TurnKind
    value: str

    @property
    def field(self) -> str:
        return f"{self.kind[0]}:{self.value}"

    @property
    def named(self) -> bool:
        return self.kind is TurnKind.NAMED

    @property
    def pause_ms(self) -> int:
        """The longest pause within a turn of this name, where only the time inside calls counts."""
        return FORGET_MS if self.named else PAUSE_MS


IMPLICIT = TurnName(TurnKind.IMPLICIT, "implicit")


@dataclass(frozen=True, slots=True)
class Turn:
    """`total_ms` of wall clock, over at `ends`; the last `RESERVE_MS` of it are the agent's. `exhausted` is decided once,
    when a call begins: what was enough then is not found too little a moment later. `tokens` is None where nobody counts."""

    name: TurnName
    total_ms: int
    ends: Deadline
    tokens: TokenBudget | None = None
    between_ms: int = 0
    """Time between its calls that counted against it, as far as this process saw them."""
    exhausted: bool = field(init=False)
    over_between: bool = field(init=False)
    """Whether it is exhausted by the time between its calls, and would not be by that inside them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "exhausted", not self.may_start())
        inside_ms = int(self.ends.remaining() * 1000) - RESERVE_MS + self.between_ms
        object.__setattr__(self, "over_between", self.exhausted and inside_ms > FLOOR_MS)

    def remaining_ms(self) -> int:
        return max(0, int(self.ends.remaining() * 1000) - RESERVE_MS)

    def may_start(self) -> bool:
        """Whether something new may be started now."""
        return self.remaining_ms() > FLOOR_MS

    def allowance_ms(self, tool_timeout_ms: int, expected_calls: int) -> int:
        """What one call may take: a fair share of what is left, but enough to be of use, within the tool's own limit."""
        remaining = self.remaining_ms()
        share = max(FLOOR_MS, remaining // max(1, expected_calls))
        return max(0, min(tool_timeout_ms, share, remaining - LADDER_MS))


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A call's claim on a turn. `arrived` is monotonic seconds, `stated_ms` and `stated_tokens` what the caller says is left
    at this call, `longest_ms` what the call may take."""

    key: str
    name: TurnName
    arrived: float
    stated_ms: int | None = None
    stated_tokens: int | None = None
    longest_ms: int = 5000
