"""A turn: an agent's work on one user message, with a budget of time and tokens that calls can only reduce."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from enum import StrEnum

from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru

FLOOR_TOKENS = 200
"""Fewest tokens that a call is allowed if the turn has them, however many further calls are expected."""


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Token budget of a turn. `spent`: tokens of the answers before this call began. Parallel calls do not see one another's
    tokens, so together they may exceed the total by what each was allowed."""

    total: int
    spent: int = 0

    @property
    def remaining(self) -> int:
        return max(0, self.total - self.spent)

    @property
    def is_exhausted(self) -> bool:
        """True if too few tokens are left for any result, so that no call is started."""
        return self.remaining < 150

    def allowance(self, most: int, expected_calls: int) -> int:
        """Returns the tokens for one call: an equal share of `remaining` for each expected call, at least `FLOOR_TOKENS`,
        but never more than `most` or `remaining`."""
        share = max(FLOOR_TOKENS, self.remaining // max(1, expected_calls))
        return min(most, share, self.remaining)

    def spend(self, tokens: int) -> TokenBudget:
        return replace(self, spent=self.spent + tokens)


def open_token_budget(configured: int, stated: int | None, known: TokenBudget | None = None) -> TokenBudget | None:
    """Returns a call's view of the turn's token budget: `known`, else `configured` tokens (0 for no budget), reduced to
    `stated`, the tokens that the caller says are left. None if tokens are not counted."""
    budget = known or (TokenBudget(configured) if configured else None)
    if stated is None:
        return budget
    total = (budget.spent if budget else 0) + stated
    return replace(budget, total=min(budget.total, total)) if budget else TokenBudget(total)


def merge_token_budgets(one: TokenBudget | None, other: TokenBudget | None) -> TokenBudget | None:
    """Combines two views of a budget: the smaller total and the larger amount spent. None is ignored."""
    if one is None or other is None:
        return one or other
    return TokenBudget(min(one.total, other.total), max(one.spent, other.spent))


RESERVE_MS = 200
"""Reserved at the end of a turn for the agent's answer."""
FLOOR_MS = 100
"""A call starts only if more than this is left of the turn, not counting the last `RESERVE_MS`."""
LADDER_MS = 50
"""Reserved at the end of a call for a fallback and for recording the call."""
FORGET_MS = 60_000
"""How long an ended turn is remembered."""
LEASE_MS = 100
"""With the clock `TOOLS`, a call that never reports its end counts as running for its timeout plus this."""


class TurnClock(StrEnum):
    """Time that counts against a turn's budget: all elapsed time (WALL), or only the time inside calls (TOOLS)."""

    WALL = "wall"
    TOOLS = "tools"


class TurnKind(StrEnum):
    """How a call identifies its turn: by name, by its W3C trace, or, if it states neither, by its session."""

    NAMED = "named"
    TRACE = "trace"
    IMPLICIT = "implicit"


@dataclass(frozen=True, slots=True)
class TurnName:
    """Name of a call's turn. A named turn that is used up stays exhausted; an unnamed one is replaced by a new turn."""

    kind: TurnKind
    value: str

    @property
    def field(self) -> str:
        return f"{self.kind[0]}:{self.value}"

    @property
    def is_named(self) -> bool:
        return self.kind is TurnKind.NAMED

    @property
    def pause_ms(self) -> int:
        """Longest pause in ms between calls of one turn, with the clock `TOOLS`; a longer one ends the turn."""
        return FORGET_MS if self.is_named else 10_000


IMPLICIT = TurnName(TurnKind.IMPLICIT, "implicit")


@dataclass(frozen=True, slots=True)
class Turn:
    """Turn of `total_ms` that ends at `ends`; its last `RESERVE_MS` are reserved for the agent. `exhausted` is computed
    once, when a call begins. `tokens` is None if tokens are not counted."""

    name: TurnName
    total_ms: int
    ends: Deadline
    tokens: TokenBudget | None = None
    between_ms: int = 0
    """Time between the turn's calls that counted against the budget, as far as this process saw it."""
    exhausted: bool = field(init=False)
    over_between: bool = field(init=False)
    """True if the turn is exhausted only because of the time between its calls."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "exhausted", not self.may_start())
        inside_ms = int(self.ends.remaining() * 1000) - RESERVE_MS + self.between_ms
        object.__setattr__(self, "over_between", self.exhausted and inside_ms > FLOOR_MS)

    def remaining_ms(self) -> int:
        return max(0, int(self.ends.remaining() * 1000) - RESERVE_MS)

    def may_start(self) -> bool:
        return self.remaining_ms() > FLOOR_MS

    def allowance_ms(self, tool_timeout_ms: int, expected_calls: int) -> int:
        """Returns the ms that one call may take: an equal share of the remaining time among `expected_calls` (this one
        included), at least `FLOOR_MS`, at most the tool's timeout and the remaining time less `LADDER_MS`."""
        remaining = self.remaining_ms()
        share = max(FLOOR_MS, remaining // max(1, expected_calls))
        return max(0, min(tool_timeout_ms, share, remaining - LADDER_MS))


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A call's data about its turn. `key`: its key in `Turns`. `arrived`: monotonic seconds. `stated_ms`,
    `stated_tokens`: time and tokens that the caller says are left. `longest_ms`: the tool's timeout."""

    key: str
    name: TurnName
    arrived: float
    stated_ms: int | None = None
    stated_tokens: int | None = None
    longest_ms: int = 5000


@dataclass(slots=True)
class LocalTurn:
    """This process's copy of a turn. `first_seen` and `ends` (the earliest end computed) are in monotonic seconds; with the
    clock `TOOLS`, pauses postpone both. `ahead_ms`: Redis's clock minus ours at its first answer, None before."""

    first_seen: float
    ends: float
    total_ms: int
    ahead_ms: float | None = None
    tokens: TokenBudget | None = None


@dataclass(slots=True)
class _Known:
    """A turn in this process. `turn`: None before the first call's turn is settled, and once it is over. `calls`: number of
    running calls. `idle_since`: when the last call ended. `between`: seconds without a running call that counted against
    the budget."""

    turn: LocalTurn | None = None
    calls: int = 0
    idle_since: float = 0.0
    between: float = 0.0


STEP_MS = 250
"""Most ms of drift between Redis's clock and ours within a turn, round trip included; more means that one clock was set."""


class Turns:
    """The turns of this process's calls. Combines Redis's view of a turn with this process's own; the earlier end and the
    smaller budget count, so that a Redis that loses data, fails over or changes its clock can only shorten a turn."""

    def __init__(
        self,
        budget_ms: int,
        clock: Clock = time.monotonic,
        *,
        budget_tokens: int = 0,
        counts: TurnClock = TurnClock.WALL,
        capacity: int = 20_000,
    ) -> None:
        """Takes the configured budgets, which callers can only reduce. `budget_tokens`: 0 for no limit of our own.
        `counts`: time that counts against a turn. `capacity`: most turns held. A turn is held until about `FORGET_MS`
        after its end."""
        self.budget_ms = budget_ms
        self.budget_tokens = budget_tokens
        self.counts_calls = counts is TurnClock.TOOLS
        self._clock = clock
        self._known: Lru[str, _Known] = Lru(capacity)

    def __len__(self) -> int:
        return len(self._known)

    def enter(self, request: TurnRequest) -> None:
        """Records the start of a call; `leave` must follow. With the clock `TOOLS`, the pause before the call postpones the
        turn's end; a pause longer than `pause_ms` ends the turn."""
        known = self._known.use(request.key) or _Known()
        pause = 0.0 if known.calls else max(0.0, request.arrived - known.idle_since)
        known.calls += 1
        if known.turn is None:
            known.between = 0.0
            self._known.put(request.key, known)
        elif not self.counts_calls:
            known.between += pause
        elif pause * 1000 > request.name.pause_ms:
            known.turn = None
        else:
            known.turn.first_seen += pause
            known.turn.ends += pause

    def leave(self, key: str) -> None:
        known = self._known.peek(key)
        if known is not None and known.calls:
            known.calls -= 1
            known.idle_since = self._clock()
            if not known.calls and known.turn is None:
                self._known.pop(key)

    def renew(self, key: str) -> None:
        """Resets the counted time between calls, since a new turn begins under this key."""
        if known := self._known.peek(key):
            known.between = 0.0

    def between_ms(self, key: str) -> int:
        known = self._known.peek(key)
        return round(known.between * 1000) if known else 0

    def live(self, key: str, name: TurnName) -> LocalTurn | None:
        """Returns this process's copy of the turn, or None. First drops a copy that is expired, or unnamed and used up."""
        known = self._known.peek(key)
        if known is None or known.turn is None:
            return None
        left_ms = (known.turn.ends - self._clock()) * 1000
        over = left_ms < -FORGET_MS if name.is_named else left_ms - RESERVE_MS <= FLOOR_MS
        if over:
            known.turn, known.between = None, 0.0
            if not known.calls:
                self._known.pop(key)
        return known.turn

    def keep(self, key: str, turn: LocalTurn) -> None:
        known = self._known.peek(key) or _Known()
        known.turn = turn
        self._known.put(key, known)
        oldest_end = self._clock() - FORGET_MS / 1000
        self._known.pop_while(lambda each: not each.calls and each.turn is not None and each.turn.ends < oldest_end)

    def spend(self, key: str, tokens: int) -> None:
        known = self._known.peek(key)
        if known is not None and known.turn is not None and known.turn.tokens is not None:
            known.turn.tokens = known.turn.tokens.spend(tokens)

    def latest_end(self) -> float:
        """Returns the latest end of all turns in monotonic seconds, 0 without turns. Draining waits for this time."""
        return max((known.turn.ends for known in self._known.values() if known.turn is not None), default=0.0)

    def ages_ms(self, request: TurnRequest, sent: float) -> tuple[int, int]:
        """Returns the ages of the turn and of the call, in ms, when the begin script is `sent` (monotonic seconds)."""
        call_age = max(0.0, sent - request.arrived)
        ours = self.live(request.key, request.name)
        turn_age = max(call_age, sent - ours.first_seen) if ours else call_age
        return round(turn_age * 1000), round(call_age * 1000)

    def is_known_exhausted(self, request: TurnRequest) -> bool:
        ours = self.live(request.key, request.name) if request.name.is_named else None
        return ours is not None and (ours.ends - self._clock()) * 1000 <= RESERVE_MS + FLOOR_MS

    def confirm(
        self,
        request: TurnRequest,
        sent: float,
        elapsed_ms: int,
        total_ms: int,
        clock_ms: int,
        tokens: TokenBudget | None,
        *,
        renewed: bool,
    ) -> Turn:
        """Combines Redis's answer with our copy of the turn. Keeps and returns the turn, or a new one if it is unnamed
        and used up. `sent`: see `ages_ms`. `clock_ms`: Redis's clock. `tokens`: None if not counted. `renewed`: Redis
        began a new turn."""
        if renewed:
            self.renew(request.key)
        ours = None if renewed else self.live(request.key, request.name)
        ahead_ms = clock_ms - sent * 1000
        first_ahead_ms = ahead_ms if ours is None or ours.ahead_ms is None else ours.ahead_ms
        step_ms = ahead_ms - first_ahead_ms
        # A step forward of Redis's clock is not elapsed time; after a step back, the end in our copy applies.
        made_ms = step_ms if step_ms > STEP_MS else 0
        ends = sent + (total_ms - max(0, elapsed_ms - made_ms)) / 1000
        first_seen = min(request.arrived, sent)
        turn = self._settle(request, ours, first_seen, ends, total_ms, tokens, first_ahead_ms)
        return self._renewed_if_used_up(request, turn)

    def without_redis(self, request: TurnRequest) -> Turn:
        return self._renewed_if_used_up(request, self._start_turn(request, self.live(request.key, request.name)))

    def _renewed_if_used_up(self, request: TurnRequest, turn: Turn) -> Turn:
        """Returns `turn`; if it is unnamed and used up, perhaps by the round trip itself, a new turn in its place."""
        if request.name.is_named or not turn.exhausted:
            return turn
        self.renew(request.key)
        return self._start_turn(request, None)

    def _start_turn(self, request: TurnRequest, ours: LocalTurn | None) -> Turn:
        first_seen = min(request.arrived, ours.first_seen if ours else self._clock())
        total_ms = ours.total_ms if ours else self.budget_ms
        if request.stated_ms is not None:
            elapsed_ms = max(0, round((request.arrived - first_seen) * 1000))
            total_ms = min(total_ms, elapsed_ms + request.stated_ms)
        tokens = open_token_budget(self.budget_tokens, request.stated_tokens, ours.tokens if ours else None)
        return self._settle(request, ours, first_seen, first_seen + total_ms / 1000, total_ms, tokens)

    def unshared(self, request: TurnRequest) -> Turn:
        """Returns a turn of this call alone, which is not kept: for a call without a shared turn, or over the rate limit."""
        total_ms = self.budget_ms if request.stated_ms is None else min(self.budget_ms, request.stated_ms)
        tokens = open_token_budget(self.budget_tokens, request.stated_tokens)
        return Turn(request.name, total_ms, Deadline(request.arrived + total_ms / 1000, self._clock), tokens)

    def _settle(
        self,
        request: TurnRequest,
        ours: LocalTurn | None,
        first_seen: float,
        ends: float,
        total_ms: int,
        tokens: TokenBudget | None,
        ahead_ms: float | None = None,
    ) -> Turn:
        """Keeps and returns the turn. Takes the earlier times and the smaller budgets of those given and those in `ours`."""
        if request.stated_ms is not None:
            ends = min(ends, request.arrived + request.stated_ms / 1000)
        if ours is not None:
            first_seen, ends = min(first_seen, ours.first_seen), min(ends, ours.ends)
            total_ms = min(total_ms, ours.total_ms)
            tokens = merge_token_budgets(tokens, ours.tokens)
            ahead_ms = ours.ahead_ms if ahead_ms is None else ahead_ms
        ends = min(ends, first_seen + total_ms / 1000)  # ms were rounded above
        self.keep(request.key, LocalTurn(first_seen, ends, total_ms, ahead_ms, tokens))
        return Turn(request.name, total_ms, Deadline(ends, self._clock), tokens, self.between_ms(request.key))
