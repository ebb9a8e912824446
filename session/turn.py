"""A turn: an agent's work on one user message, with a budget of time and tokens that calls can only reduce."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from enum import StrEnum

from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru

LEAST_TOKENS = 150
"""With fewer tokens left than this no call is started, as no result would fit."""
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
        return self.remaining < LEAST_TOKENS

    def allowance(self, most: int, expected_calls: int) -> int:
        """Returns one call's tokens: an equal share of the rest, at least `FLOOR_TOKENS`, at most `most` or the rest."""
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
"""A call starts only if more than this is left of the turn before its last `RESERVE_MS`."""
LADDER_MS = 50
"""Reserved at the end of a call for a fallback and for recording the call."""
FORGET_MS = 60_000
"""How long an ended turn is remembered."""
PAUSE_MS = 10_000
"""With the clock `TOOLS`, a longer pause between calls ends an unnamed turn. The limit of named turns is `FORGET_MS`."""
LEASE_MS = 100
"""With the clock `TOOLS`, a call that never reports its end counts as its timeout and this much."""


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
        return FORGET_MS if self.is_named else PAUSE_MS


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
    """A call's data about its turn. `key`: its key in `LocalTurns`. `arrived`: monotonic seconds. `stated_ms`,
    `stated_tokens`: time and tokens that the caller says are left. `longest_ms`: the tool's timeout."""

    key: str
    name: TurnName
    arrived: float
    stated_ms: int | None = None
    stated_tokens: int | None = None
    longest_ms: int = 5000


@dataclass(frozen=True, slots=True)
class LocalTurn:
    """This process's copy of a turn. `first_seen` and `ends` (the earliest end computed) are in monotonic seconds; with the
    clock `TOOLS`, pauses postpone both. `ahead_ms`: Redis's clock minus ours at its first answer, None before."""

    first_seen: float
    ends: float
    total_ms: int
    ahead_ms: float | None = None
    tokens: TokenBudget | None = None


@dataclass(slots=True)
class _Activity:
    """A turn's calls in this process. `calls`: number of running calls. `idle_since`: when the last call ended. `between`:
    seconds without a running call, as far as they counted against the budget."""

    calls: int = 0
    idle_since: float = 0.0
    between: float = 0.0


class LocalTurns:
    """This process's copies of turns, so that a Redis that loses data, fails over or changes its clock can only shorten a
    turn. `counts`: time that counts against a turn. Holds at most `capacity` turns, for some `FORGET_MS` after the end."""

    def __init__(self, clock: Clock = time.monotonic, capacity: int = 20_000, counts: TurnClock = TurnClock.WALL) -> None:
        self._clock = clock
        self.counts = counts
        self._activities: Lru[str, _Activity] = Lru(capacity)
        self._shadows: Lru[str, LocalTurn] = Lru(capacity)

    def __len__(self) -> int:
        return max(len(self._shadows), len(self._activities))

    def enter(self, request: TurnRequest) -> None:
        """Records the start of a call; `leave` must follow. With the clock `TOOLS`, the pause before the call postpones the
        turn's end; a pause longer than `pause_ms` ends the turn."""
        activity, shadow = self._activities.use(request.key), self._shadows.peek(request.key)
        if activity is None or shadow is None:
            under_way = activity.calls if activity else 0
            self._activities.put(request.key, _Activity(under_way + 1))
            return
        pause = 0.0 if activity.calls else max(0.0, request.arrived - activity.idle_since)
        activity.calls += 1
        if self.counts is TurnClock.WALL:
            activity.between += pause
        elif pause * 1000 > request.name.pause_ms:
            self._shadows.pop(request.key)
        elif pause:
            later = replace(shadow, first_seen=shadow.first_seen + pause, ends=shadow.ends + pause)
            self._shadows.put(request.key, later)

    def leave(self, key: str) -> None:
        activity = self._activities.use(key)
        if activity is not None and activity.calls:
            activity.calls -= 1
            activity.idle_since = self._clock()
            if not activity.calls and key not in self._shadows:
                self._activities.pop(key)

    def renew(self, key: str) -> None:
        """Resets the counted time between calls, since a new turn begins under this key."""
        if activity := self._activities.peek(key):
            activity.between = 0.0

    def between_ms(self, key: str) -> int:
        activity = self._activities.peek(key)
        return round(activity.between * 1000) if activity else 0

    def live(self, key: str, name: TurnName) -> LocalTurn | None:
        """Returns this process's copy of the turn, or None. First drops a copy that is expired, or unnamed and used up."""
        shadow = self._shadows.peek(key)
        if shadow is None:
            return None
        left_ms = (shadow.ends - self._clock()) * 1000
        over = left_ms < -FORGET_MS if name.is_named else left_ms - RESERVE_MS <= FLOOR_MS
        if over:
            self._shadows.pop(key)
            self.renew(key)
            return None
        return shadow

    def keep(self, key: str, shadow: LocalTurn) -> None:
        self._shadows.put(key, shadow)
        oldest_end = self._clock() - FORGET_MS / 1000
        while (
            (first := next(iter(self._shadows), None)) and (known := self._shadows.peek(first)) and known.ends < oldest_end
        ):
            self._shadows.pop(first)
            if (activity := self._activities.peek(first)) is not None and not activity.calls:
                self._activities.pop(first)

    def spend(self, key: str, tokens: int) -> None:
        shadow = self._shadows.peek(key)
        if shadow is not None and shadow.tokens is not None:
            self._shadows.put(key, replace(shadow, tokens=shadow.tokens.spend(tokens)))

    def latest_end(self) -> float:
        """Returns the latest end of all turns in monotonic seconds, 0 without turns. Draining waits for it, bounded."""
        return max((shadow.ends for shadow in self._shadows.values()), default=0.0)


STEP_MS = 250
"""Most ms of drift between Redis's clock and ours within a turn, round trip included; more means that one clock was set."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Redis's answer about a turn. `elapsed_ms`: since its start. `renewed`: Redis began a new turn under this name.
    `clock_ms`: Redis's clock. `tokens`: None if not counted."""

    elapsed_ms: int
    total_ms: int
    renewed: bool
    clock_ms: int
    tokens: TokenBudget | None = None


class TurnArithmetic:
    """Combines Redis's view of a turn with this process's own view; the earlier end and the smaller budget count."""

    def __init__(
        self, budget_ms: int, shadows: LocalTurns, clock: Clock = time.monotonic, *, budget_tokens: int = 0
    ) -> None:
        """Takes the configured budgets, which callers can only reduce. `budget_tokens`: 0 for no limit of our own."""
        self.budget_ms = budget_ms
        self.budget_tokens = budget_tokens
        self.shadows = shadows
        self._clock = clock

    @property
    def counts_calls(self) -> bool:
        return self.shadows.counts is TurnClock.TOOLS

    def ages_ms(self, request: TurnRequest, sent: float) -> tuple[int, int]:
        """Returns the ages of the turn and of the call, in ms, when the begin script is `sent` (monotonic seconds)."""
        call_age = max(0.0, sent - request.arrived)
        shadow = self.shadows.live(request.key, request.name)
        turn_age = max(call_age, sent - shadow.first_seen) if shadow else call_age
        return round(turn_age * 1000), round(call_age * 1000)

    def is_known_exhausted(self, request: TurnRequest) -> bool:
        shadow = self.shadows.live(request.key, request.name) if request.name.is_named else None
        return shadow is not None and (shadow.ends - self._clock()) * 1000 <= RESERVE_MS + FLOOR_MS

    def confirm(self, request: TurnRequest, sent: float, said: Confirmation) -> Turn:
        """Keeps and returns the turn by Redis's answer and ours; a new one if used up and unnamed. `sent`: see `ages_ms`."""
        if said.renewed:
            self.shadows.renew(request.key)
        shadow = None if said.renewed else self.shadows.live(request.key, request.name)
        ahead_ms = said.clock_ms - sent * 1000
        first_ahead_ms = ahead_ms if shadow is None or shadow.ahead_ms is None else shadow.ahead_ms
        step_ms = ahead_ms - first_ahead_ms
        # A step forward of Redis's clock is not elapsed time; after a step back, the end in the shadow applies.
        made_ms = step_ms if step_ms > STEP_MS else 0
        ends = sent + (said.total_ms - max(0, said.elapsed_ms - made_ms)) / 1000
        first_seen = min(request.arrived, sent)
        turn = self._settle(request, shadow, first_seen, ends, said.total_ms, said.tokens, first_ahead_ms)
        return self._renewed_if_used_up(request, turn)

    def without_redis(self, request: TurnRequest, now: float) -> Turn:
        shadow = self.shadows.live(request.key, request.name)
        return self._renewed_if_used_up(request, self._start_turn(request, shadow, now))

    def _renewed_if_used_up(self, request: TurnRequest, turn: Turn) -> Turn:
        """Returns `turn`; if it is unnamed and used up, perhaps by the round trip itself, a new turn in its place."""
        if request.name.is_named or not turn.exhausted:
            return turn
        self.shadows.renew(request.key)
        return self._start_turn(request, None, self._clock())

    def _start_turn(self, request: TurnRequest, shadow: LocalTurn | None, now: float) -> Turn:
        first_seen = min(request.arrived, shadow.first_seen if shadow else now)
        total_ms = shadow.total_ms if shadow else self.budget_ms
        if request.stated_ms is not None:
            elapsed_ms = max(0, round((request.arrived - first_seen) * 1000))
            total_ms = min(total_ms, elapsed_ms + request.stated_ms)
        tokens = open_token_budget(self.budget_tokens, request.stated_tokens, shadow.tokens if shadow else None)
        return self._settle(request, shadow, first_seen, first_seen + total_ms / 1000, total_ms, tokens)

    def unshared(self, request: TurnRequest) -> Turn:
        """Returns a turn of this call alone, which is not kept: for a call without a shared turn, or over the rate limit."""
        total_ms = self.budget_ms if request.stated_ms is None else min(self.budget_ms, request.stated_ms)
        tokens = open_token_budget(self.budget_tokens, request.stated_tokens)
        return Turn(request.name, total_ms, Deadline(request.arrived + total_ms / 1000, self._clock), tokens)

    def _settle(
        self,
        request: TurnRequest,
        shadow: LocalTurn | None,
        first_seen: float,
        ends: float,
        total_ms: int,
        tokens: TokenBudget | None,
        ahead_ms: float | None = None,
    ) -> Turn:
        if request.stated_ms is not None:
            ends = min(ends, request.arrived + request.stated_ms / 1000)
        if shadow is not None:
            first_seen, ends = min(first_seen, shadow.first_seen), min(ends, shadow.ends)
            total_ms = min(total_ms, shadow.total_ms)
            tokens = merge_token_budgets(tokens, shadow.tokens)
        ends = min(ends, first_seen + total_ms / 1000)  # ms were rounded above
        if ahead_ms is None and shadow is not None:
            ahead_ms = shadow.ahead_ms
        self.shadows.keep(request.key, LocalTurn(first_seen, ends, total_ms, ahead_ms, tokens))
        between_ms = self.shadows.between_ms(request.key)
        return Turn(request.name, total_ms, Deadline(ends, self._clock), tokens, between_ms)
