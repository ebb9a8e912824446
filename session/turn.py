"""A user's turn: its budget of time and tokens, and the arithmetic that only ever shortens it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from enum import StrEnum

from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru

LEAST_TOKENS = 150
"""Fewer tokens left start no call: no result fits."""
FLOOR_TOKENS = 200
"""Fewest tokens that a call gets while that many are left, however many calls are expected."""


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """`spent` is the tokens of the turn's answers when this call began. Parallel calls do not see one another: together they
    may exceed the total by what each was allowed."""

    total: int
    spent: int = 0

    @property
    def remaining(self) -> int:
        return max(0, self.total - self.spent)

    @property
    def is_exhausted(self) -> bool:
        return self.remaining < LEAST_TOKENS

    def allowance(self, most: int, expected_calls: int) -> int:
        """Tokens that one call may give: at most `most`, an equal share of the rest, but at least `FLOOR_TOKENS`."""
        share = max(FLOOR_TOKENS, self.remaining // max(1, expected_calls))
        return min(most, share, self.remaining)

    def spend(self, tokens: int) -> TokenBudget:
        return replace(self, spent=self.spent + tokens)


def open_token_budget(configured: int, stated: int | None, known: TokenBudget | None = None) -> TokenBudget | None:
    """A turn's budget at a call: the known one, else the configured one (0 for none), shortened to the tokens that the
    caller states are left. None where tokens are not counted."""
    budget = known or (TokenBudget(configured) if configured else None)
    if stated is None:
        return budget
    total = (budget.spent if budget else 0) + stated
    return replace(budget, total=min(budget.total, total)) if budget else TokenBudget(total)


def merge_token_budgets(one: TokenBudget | None, other: TokenBudget | None) -> TokenBudget | None:
    """The smaller total and the larger amount spent."""
    if one is None or other is None:
        return one or other
    return TokenBudget(min(one.total, other.total), max(one.spent, other.spent))


RESERVE_MS = 200
"""Kept for the agent's own answer."""
FLOOR_MS = 100
"""No call is started with this much or less left."""
LADDER_MS = 50
"""Kept of a call's time for a fallback and the record."""
FORGET_MS = 60_000
"""How long an ended turn is remembered."""
PAUSE_MS = 10_000
"""Where only the time inside calls counts, an unnamed turn ends after this pause, a named one after `FORGET_MS`."""
LEASE_MS = 100
"""A call that never reported its end counts as having lasted this much longer than it may."""


class TurnClock(StrEnum):
    """The time that a turn's budget counts: all of it, or only the time inside calls."""

    WALL = "wall"
    TOOLS = "tools"


class TurnKind(StrEnum):
    """How a call states its turn: by name, by its W3C trace, or by its session where it states none."""

    NAMED = "named"
    TRACE = "trace"
    IMPLICIT = "implicit"


@dataclass(frozen=True, slots=True)
class TurnName:
    """The turn that a call belongs to. Only a named turn can be exhausted; others are replaced."""

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
        """The longest pause within the turn, where only the time inside calls counts."""
        return FORGET_MS if self.is_named else PAUSE_MS


IMPLICIT = TurnName(TurnKind.IMPLICIT, "implicit")


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of `total_ms` that is over at `ends`; the last `RESERVE_MS` are the agent's. `exhausted` is decided once, when
    a call begins. `tokens` is None where they are not counted."""

    name: TurnName
    total_ms: int
    ends: Deadline
    tokens: TokenBudget | None = None
    between_ms: int = 0
    """Counted time between its calls, as far as this process saw them."""
    exhausted: bool = field(init=False)
    over_between: bool = field(init=False)
    """True if it is exhausted only because of the time between its calls."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "exhausted", not self.may_start())
        inside_ms = int(self.ends.remaining() * 1000) - RESERVE_MS + self.between_ms
        object.__setattr__(self, "over_between", self.exhausted and inside_ms > FLOOR_MS)

    def remaining_ms(self) -> int:
        return max(0, int(self.ends.remaining() * 1000) - RESERVE_MS)

    def may_start(self) -> bool:
        """True if enough time is left to start something."""
        return self.remaining_ms() > FLOOR_MS

    def allowance_ms(self, tool_timeout_ms: int, expected_calls: int) -> int:
        """Milliseconds that one call may take: an equal share of the rest, at least `FLOOR_MS`, within the tool's
        timeout."""
        remaining = self.remaining_ms()
        share = max(FLOOR_MS, remaining // max(1, expected_calls))
        return max(0, min(tool_timeout_ms, share, remaining - LADDER_MS))


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A call's part in a turn. `arrived` is in monotonic seconds; `stated_ms` and `stated_tokens` are left by the caller's
    own account; `longest_ms` is the tool's timeout."""

    key: str
    name: TurnName
    arrived: float
    stated_ms: int | None = None
    stated_tokens: int | None = None
    longest_ms: int = 5000


@dataclass(frozen=True, slots=True)
class Shadow:
    """A turn as this process has seen it: first seen, and the earliest end ever computed, in monotonic seconds. `ahead_ms`
    is Redis's clock less this one when Redis first answered about the turn; None before."""

    first_seen: float
    ends: float
    total_ms: int
    ahead_ms: float | None = None
    tokens: TokenBudget | None = None


@dataclass(slots=True)
class _Activity:
    """A turn's calls in this process: how many run, since when none does, and the counted time between them."""

    calls: int = 0
    idle_since: float = 0.0
    between: float = 0.0


class TurnShadows:
    """The process's own view of its turns: a Redis that is lost, fails over or changes its clock can only shorten them.
    Holds at most `capacity` turns, each until `FORGET_MS` after its end."""

    def __init__(self, clock: Clock = time.monotonic, capacity: int = 20_000, counts: TurnClock = TurnClock.WALL) -> None:
        self._clock = clock
        self.counts = counts
        self._activities: Lru[str, _Activity] = Lru(capacity)
        self._shadows: Lru[str, Shadow] = Lru(capacity)

    def __len__(self) -> int:
        return max(len(self._shadows), len(self._activities))

    def enter(self, request: TurnRequest) -> None:
        """Notes that a call begins. The pause before it does not count where only the time inside calls does."""
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
        """Notes that an entered call has ended."""
        activity = self._activities.use(key)
        if activity is not None and activity.calls:
            activity.calls -= 1
            activity.idle_since = self._clock()
            if not activity.calls and key not in self._shadows:
                self._activities.pop(key)

    def renew(self, key: str) -> None:
        """Starts the key's turn anew."""
        if activity := self._activities.peek(key):
            activity.between = 0.0

    def between_ms(self, key: str) -> int:
        """Counted time between the turn's calls."""
        activity = self._activities.peek(key)
        return round(activity.between * 1000) if activity else 0

    def live(self, key: str, name: TurnName) -> Shadow | None:
        """The turn as seen so far; None when it is unknown, expired, or unnamed and used up."""
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

    def keep(self, key: str, shadow: Shadow) -> None:
        self._shadows.put(key, shadow)
        oldest_end = self._clock() - FORGET_MS / 1000
        while (
            (first := next(iter(self._shadows), None)) and (known := self._shadows.peek(first)) and known.ends < oldest_end
        ):
            self._shadows.pop(first)
            if (activity := self._activities.peek(first)) is not None and not activity.calls:
                self._activities.pop(first)

    def spend(self, key: str, tokens: int) -> None:
        """Counts a call's tokens, where its turn counts them."""
        shadow = self._shadows.peek(key)
        if shadow is not None and shadow.tokens is not None:
            self._shadows.put(key, replace(shadow, tokens=shadow.tokens.spend(tokens)))

    def latest_end(self) -> float:
        """The end of the last turn, in monotonic seconds: a draining server waits for it."""
        return max((shadow.ends for shadow in self._shadows.values()), default=0.0)


STEP_MS = 250
"""The most by which the two clocks drift apart within a turn, round trips included; more is a step of one of them."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Redis's view of a turn; `clock_ms` is its own clock."""

    elapsed_ms: int
    total_ms: int
    renewed: bool
    clock_ms: int
    tokens: TokenBudget | None = None


class TurnArithmetic:
    """Combines Redis's view of a turn with this process's own; the shorter counts."""

    def __init__(
        self, budget_ms: int, shadows: TurnShadows, clock: Clock = time.monotonic, *, budget_tokens: int = 0
    ) -> None:
        """Takes the configured budgets; `budget_tokens` is for turns that state none, and 0 does not count tokens."""
        self.budget_ms = budget_ms
        self.budget_tokens = budget_tokens
        self.shadows = shadows
        self._clock = clock

    @property
    def counts_calls(self) -> bool:
        """True if only the time inside calls counts."""
        return self.shadows.counts is TurnClock.TOOLS

    def ages_ms(self, request: TurnRequest, sent: float) -> tuple[int, int]:
        """The ages of the turn and of the call in ms, when the begin script is sent."""
        call_age = max(0.0, sent - request.arrived)
        shadow = self.shadows.live(request.key, request.name)
        turn_age = max(call_age, sent - shadow.first_seen) if shadow else call_age
        return round(turn_age * 1000), round(call_age * 1000)

    def is_known_exhausted(self, request: TurnRequest) -> bool:
        """True if this process has seen the named turn used up."""
        shadow = self.shadows.live(request.key, request.name) if request.name.is_named else None
        return shadow is not None and (shadow.ends - self._clock()) * 1000 <= RESERVE_MS + FLOOR_MS

    def confirm(self, request: TurnRequest, sent: float, said: Confirmation) -> Turn:
        """The turn by Redis's answer, anchored at the moment the script was sent."""
        if said.renewed:
            self.shadows.renew(request.key)
        shadow = None if said.renewed else self.shadows.live(request.key, request.name)
        ahead_ms = said.clock_ms - sent * 1000
        first_ahead_ms = ahead_ms if shadow is None or shadow.ahead_ms is None else shadow.ahead_ms
        step_ms = ahead_ms - first_ahead_ms
        # A forward step of Redis's clock is not time that passed; for a step back the shadow's end holds.
        made_ms = step_ms if step_ms > STEP_MS else 0
        ends = sent + (said.total_ms - max(0, said.elapsed_ms - made_ms)) / 1000
        first_seen = min(request.arrived, sent)
        turn = self._settle(request, shadow, first_seen, ends, said.total_ms, said.tokens, first_ahead_ms)
        return self._or_anew(request, turn)

    def alone(self, request: TurnRequest, now: float) -> Turn:
        """The turn without Redis."""
        shadow = self.shadows.live(request.key, request.name)
        return self._or_anew(request, self._start_turn(request, shadow, now))

    def _or_anew(self, request: TurnRequest, turn: Turn) -> Turn:
        """The turn, or a new one from this call on if it is unnamed and used up: the trip itself may have used the rest."""
        if request.name.is_named or not turn.exhausted:
            return turn
        self.shadows.renew(request.key)
        return self._start_turn(request, None, self._clock())

    def _start_turn(self, request: TurnRequest, shadow: Shadow | None, now: float) -> Turn:
        first_seen = min(request.arrived, shadow.first_seen if shadow else now)
        total_ms = shadow.total_ms if shadow else self.budget_ms
        if request.stated_ms is not None:
            elapsed_ms = max(0, round((request.arrived - first_seen) * 1000))
            total_ms = min(total_ms, elapsed_ms + request.stated_ms)
        tokens = open_token_budget(self.budget_tokens, request.stated_tokens, shadow.tokens if shadow else None)
        return self._settle(request, shadow, first_seen, first_seen + total_ms / 1000, total_ms, tokens)

    def apart(self, request: TurnRequest) -> Turn:
        """A turn of this call alone, not kept: for callers without a shared turn, and for refused calls."""
        total_ms = self.budget_ms if request.stated_ms is None else min(self.budget_ms, request.stated_ms)
        tokens = open_token_budget(self.budget_tokens, request.stated_tokens)
        return Turn(request.name, total_ms, Deadline(request.arrived + total_ms / 1000, self._clock), tokens)

    def _settle(
        self,
        request: TurnRequest,
        shadow: Shadow | None,
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
        ends = min(ends, first_seen + total_ms / 1000)  # ms were rounded on the way
        if ahead_ms is None and shadow is not None:
            ahead_ms = shadow.ahead_ms
        self.shadows.keep(request.key, Shadow(first_seen, ends, total_ms, ahead_ms, tokens))
        between_ms = self.shadows.between_ms(request.key)
        return Turn(request.name, total_ms, Deadline(ends, self._clock), tokens, between_ms)
