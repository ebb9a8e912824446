"""The session's memory in Redis: at most two round trips a call, `begin` before the work and `end` after it.

Nothing here stops a call. While Redis is late, refuses or is away, `Begun` says `degraded`, turn and limits are kept in
this process, and writes are dropped."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from session import keys, preferences
from session.begin import BeginRequest, Begun, Claim, ClaimRequest, decode
from session.failures import MemoryUnavailable
from session.history import MOST_CALLS, HistoryEntry, LastShown, Recollection, by_groups, read_calls, read_ids, read_shared
from session.keys import SessionKeys
from session.recent import RecentState, StateWrite
from session.redis.keyvalue import TRIP_SECONDS, Argument, Command, Evaluation, GuardedRedis, KeyValue, Reply, Step
from session.resilience.breaker import CircuitBreaker
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline, Span
from session.resilience.rate_limit import LocalLimits, Rate
from session.resilience.tasks import run_periodically
from session.scripts import Script
from session.turn import FLOOR_MS, FORGET_MS, LEASE_MS, RESERVE_MS, Confirmation, TokenBudget, TurnArithmetic

SESSION_TTL_MS = 30 * 60 * 1000
TOTALS = ("calls", "failures", "cache_hits", "latency_ms", "tokens_out")
LARGEST_WHOLE = 16 * 1024
"""Bytes of a packed result that is kept whole: 20 titles with everything are a third of it, and there are five a session."""
Group = tuple[str, int, Mapping[str, str]]
"""A group of `STATE`, since when it is so in ms of Redis's clock, and its fields."""


class Recording:
    """What is written of a session, each in one atomic step."""

    def __init__(self) -> None:
        self._record, self._remember = Script.load("record"), Script.load("remember")

    def step(
        self,
        own: SessionKeys,
        at_ms: int,
        entry: HistoryEntry,
        shown: LastShown | None = None,
        shared: Mapping[str, str] | None = None,
        whole: bytes = b"",
    ) -> Step:
        """`shared` holds what changes of the shared values, "" for what is not known any more; `whole` is the packed result
        behind a shortened one, kept under the entry's `result`; `at_ms` is now, by Redis's clock."""
        groups = by_groups({**(shown.fields if shown else {}), **(shared or {})})
        numbers = (int(entry.succeeded), int(entry.cache_hit), entry.latency_ms, entry.tokens)
        kept = b"%s %s" % (entry.result.encode(), whole) if entry.result else b""
        state = state_arguments((name, at_ms, fields) for name, fields in groups.items())
        arguments: list[Argument] = [SESSION_TTL_MS, entry.as_json(), *numbers, kept, *state]
        return Evaluation(self._record, (own.base, own.history, own.results), arguments)

    def late(self, own: SessionKeys, groups: Iterable[Group]) -> Step:
        """What a session is to know of earlier calls."""
        return Evaluation(self._remember, (own.base,), (SESSION_TTL_MS, *state_arguments(groups)))


def state_arguments(groups: Iterable[Group]) -> list[Argument]:
    """As state.lua takes them."""
    arguments: list[Argument] = []
    for name, at_ms, fields in groups:
        arguments += (name, at_ms, len(fields), *(each for pair in fields.items() for each in pair))
    return arguments


def reading(own: SessionKeys) -> list[Step]:
    return [Command(("LRANGE", own.history, 0, MOST_CALLS - 1)), Command(("HGETALL", own.base))]


def read(replies: Sequence[Reply]) -> Recollection:
    """What the answers to `reading` say."""
    history, stored = replies
    fields = dict(zip(stored[::2], stored[1::2], strict=True))
    totals = {name: int(fields.get(name.encode(), 0)) for name in TOTALS}
    return Recollection(read_calls(history), totals, LastShown.read(fields), read_shared(fields))


def whole_of(kept: Sequence[bytes], name: str) -> bytes | None:
    """The packed result of that name among those that a session keeps."""
    begins = name.encode("utf-8", "replace") + b" "
    return next((each.removeprefix(begins) for each in kept if each.startswith(begins)), None)


CLAIM_TTL_MS = 15_000
"""Outlives the longest call, so that a claimant that died does not block its key for long."""
REMEMBERED = (b"ids", b"query", b"by", b"title_id", b"title", b"order_id", b"listened")
"""Of the session's hash, in the order in which begin.lua answers them: the names of the titles that were shown are worth
their way only where the history was asked for."""


class Opening:
    """Asks for turn, limit, claim and what is remembered, each only where the request wants to know of it."""

    def __init__(self, turns: TurnArithmetic, rate: Rate | None, clock: Clock) -> None:
        self._turns = turns
        self._rate = rate
        self._clock = clock
        self._begin, self._limit, self._claim = Script.load("begin"), Script.load("limit"), Script.load("claim")

    def questions(self, request: BeginRequest, late: Sequence[Argument]) -> dict[str, Step]:
        """The steps of the first trip, by what they ask for. `late` is what the session is to know before it is asked."""
        questions: dict[str, Step] = {}
        if shared := request.shared_turn:
            questions["turn"] = self._ask_turn(request, shared, late)
        if self._rate and request.limited and request.user is not None:
            arguments = (self._rate.per_second, self._rate.burst)
            questions["limit"] = Evaluation(self._limit, (keys.limit(request.user),), arguments)
        if claim := request.claim:
            arguments_ = (claim.arguments, claim.claimant, CLAIM_TTL_MS)
            questions["claim"] = Evaluation(self._claim, (claim.record,), arguments_)
        if request.cached:
            questions["cached"] = Command(("GET", request.cached))
        if request.result_set:
            questions["result_set"] = Command(("GET", request.result_set))
        if request.history and (own := request.session_keys):
            questions["history"] = Command(("LRANGE", own.history, 0, MOST_CALLS - 1))
            questions["titles"] = Command(("HGET", own.base, "titles"))
        if request.preferences:
            questions["preferences"] = Command(("GET", request.preferences))
        return questions

    def _ask_turn(self, request: BeginRequest, shared: tuple[str, str], late: Sequence[Argument]) -> Evaluation:
        turn, name = request.turn, request.turn.name
        turn_age, call_age = self._turns.ages_ms(turn, self._clock())
        stated = -1 if turn.stated_ms is None else turn.stated_ms
        by_session = self._rate is not None and request.limited and request.user is None and request.session is not None
        rate = (self._rate.per_second, self._rate.burst) if self._rate and by_session else (0, 0)
        ttl = SESSION_TTL_MS if request.session else 0
        budget = (self._turns.budget_ms, stated, RESERVE_MS, FLOOR_MS, FORGET_MS)
        tokens = (self._turns.budget_tokens or -1, -1 if turn.stated_tokens is None else turn.stated_tokens)
        own = (ttl, name.field, int(name.named), turn_age, call_age)
        only_calls = (turn.longest_ms + LEASE_MS if self._turns.counts_calls else 0, name.pause_ms)
        return Evaluation(self._begin, shared, (*own, *budget, *rate, *tokens, *only_calls, *late))

    def begun(self, request: BeginRequest, sent: float, answers: Mapping[str, Reply]) -> Begun:
        """What the answers say to questions that left at `sent` (monotonic seconds). Raises TypeError, ValueError,
        LookupError or AttributeError for answers that the scripts do not give."""
        answer = answers.get("turn")
        retry_after_ms = int(answers.get("limit") or 0)
        if answer is not None and answer[0]:
            retry_after_ms = max(retry_after_ms, int(answer[0]))
        if retry_after_ms:
            # A refused call starts no turn, so it is measured by one of its own that nobody keeps.
            return Begun(self._turns.apart(request.turn), retry_after_ms)
        turn, fields, clock = self._turns.apart(request.turn), dict[bytes, bytes | None](), None
        if answer is not None:
            _, elapsed, total, renewed, clock, tokens, spent, *rest = answer
            counted = None if tokens < 0 else TokenBudget(tokens, spent)
            turn = self._turns.confirmed(request.turn, sent, Confirmation(elapsed, total, bool(renewed), clock, counted))
            fields = dict(zip(REMEMBERED, rest, strict=False)) | {b"titles": answers.get("titles")}
        history = answers.get("history")
        return Begun(
            turn,
            last=LastShown.read(fields),
            shared=read_shared(fields),
            said=fields,
            clock_ms=clock,
            listened=bool(fields.get(b"listened")),
            history=None if history is None else read_calls(history),
            claim=Claim.read(answers.get("claim")),
            cached=decode(answers.get("cached")),
            result_set=read_ids(answers.get("result_set")),
            preferences=preferences.decode(answers.get("preferences")),
        )


IDEMPOTENCY_TTL_MS = 10 * 60 * 1000
CATCH_UP_SECONDS = 1.0


class SessionMemory:
    """The one place that talks to Redis on behalf of a call."""

    def __init__(
        self,
        redis: KeyValue,
        breaker: CircuitBreaker,
        turns: TurnArithmetic,
        rate: Rate | None,
        local_limits: LocalLimits,
        clock: Clock = time.monotonic,
    ) -> None:
        self._redis = redis
        self._guarded = GuardedRedis(redis, breaker, clock)
        self._opening = Opening(turns, rate, clock)
        self._turns = turns
        self._rate = rate
        self._local_limits = local_limits
        self._clock = clock
        self.recent = RecentState(clock)
        self._ahead_ms = time.time() * 1000 - clock() * 1000  # how far Redis's clock is, until it has said so itself
        self._behind = False
        self._recording = Recording()
        self._settle, self._abandon = Script.load("settle"), Script.load("abandon")
        self._spend, self._pause = Script.load("spend"), Script.load("pause")

    async def begin(self, request: BeginRequest) -> Begun:
        """The first trip. Never raises for Redis's sake."""
        asked_at = self._clock()
        self._turns.enter(request.turn)
        return self.recent.fill(request, await self._begin_shared(request), asked_at)

    async def _begin_shared(self, request: BeginRequest) -> Begun:
        late = self.recent.unwritten(request.session, request.user)
        questions = self._opening.questions(request, state_arguments(self._groups(late)))
        sent = self._clock()
        if not questions:
            return self._begun_alone(request, degraded=False)
        try:
            # A call whose turn is over is answered at once, with or without what Redis knows.
            seconds = TRIP_SECONDS / 2 if self._turns.is_known_exhausted(request.turn) else None
            replies = await self._guarded.trip(list(questions.values()), seconds, request.span, "begin")
        except MemoryUnavailable:
            return self._begun_alone(request, degraded=True)
        answers = dict(zip(questions, replies, strict=True))
        try:
            begun = self._opening.begun(request, sent, answers)
        except (TypeError, ValueError, LookupError, AttributeError):  # whatever answers there does not know the scripts
            return self._begun_alone(request, degraded=True)
        if begun.retry_after_ms:
            await self._take_back(request, answers)
        if begun.clock_ms is not None:
            self._ahead_ms = begun.clock_ms - sent * 1000
            self.recent.written(late)
        return begun

    async def end(self, steps: Sequence[Step], seconds: float | None = None, span: Span | None = None) -> bool:
        """The second trip: everything a call leaves behind, together. False when Redis did not confirm it in time, which is
        at most `seconds` where the call has less than a trip's time left. It is noted within `span`."""
        if not steps:
            return True
        try:
            await self._guarded.trip(steps, None if seconds is None else min(seconds, TRIP_SECONDS), span, "end")
        except MemoryUnavailable:
            self._behind = True
            return False
        return True

    async def background(self, steps: Sequence[Step], seconds: float) -> list[Reply]:
        """A trip that no call waits for. Raises `MemoryUnavailable`."""
        return await self._guarded.trip(steps, seconds)

    def record(
        self,
        session: str,
        user: str | None,
        entry: HistoryEntry,
        shown: LastShown | None,
        shared: Mapping[str, str] | None = None,
        whole: bytes = b"",
    ) -> Step:
        """What a call leaves in its session now: see `Recording.step`."""
        return self._recording.step(
            keys.SessionKeys(session, user), self._redis_ms(self._clock()), entry, shown, shared, whole
        )

    async def keep(self) -> NoReturn:
        """Writes what Redis did not take as soon as it is back: other processes are to know it too."""
        await run_periodically("what Redis did not take", self._catch_up)

    async def _catch_up(self) -> float:
        behind, self._behind = self.recent.behind() if self._behind else [], False
        for session, user in behind:
            late = self.recent.unwritten(session, user)
            step = self._recording.late(keys.SessionKeys(session, user), self._groups(late))
            if late and await self.end([step]):
                self.recent.written(late)
        return CATCH_UP_SECONDS

    def _groups(self, left: Iterable[StateWrite]) -> list[Group]:
        return [(each.group, self._redis_ms(each.made_at), each.fields) for each in left]

    def _redis_ms(self, at: float) -> int:
        return round(at * 1000 + self._ahead_ms)

    def spend(self, request: BeginRequest, tokens: int) -> list[Step]:
        """Counts what a call gave in its turn, here at once; the step, if there is one, counts it for everybody."""
        self._turns.spend(request.turn, tokens)
        shared = request.shared_turn
        return [Evaluation(self._spend, (shared[1],), (request.turn.name.field, tokens))] if shared else []

    def pause(self, request: BeginRequest) -> list[Step]:
        """Says that a call of a turn has ended, where only the time inside calls counts."""
        shared = request.shared_turn if self._turns.counts_calls else None
        return [Evaluation(self._pause, (shared[1],), (request.turn.name.field,))] if shared else []

    def leave(self, request: BeginRequest) -> None:
        """The same for this process: what has begun has ended, however it went."""
        self._turns.leave(request.turn)

    def settle(self, claim: ClaimRequest, result: bytes | None, in_place_of: bytes | None = None) -> Step:
        """Records what a claimed key gave, or with None lets the key go. `in_place_of` is a record that could not be read:
        whoever found it takes it over."""
        found = hashlib.sha1(in_place_of, usedforsecurity=False).hexdigest() if in_place_of is not None else ""
        arguments = (claim.claimant, IDEMPOTENCY_TTL_MS, result or b"", found, claim.arguments)
        return Evaluation(self._settle, (claim.record,), arguments)

    async def forget(self, session: str, user: str | None) -> bool:
        """Removes all that is remembered under a session for a user. Raises `MemoryUnavailable`."""
        self.recent.forget(session, user)
        names = keys.SessionKeys(session, user).all()
        (removed,) = await self._guarded.trip([Command(("UNLINK", *names))])
        return bool(removed)

    async def recall(self, session: str, user: str | None) -> Recollection:
        """Reads a session back. Raises `MemoryUnavailable`."""
        replies = await self._guarded.trip(reading(keys.SessionKeys(session, user)))
        try:
            return read(replies)
        except (TypeError, ValueError, AttributeError) as error:
            raise MemoryUnavailable("what is kept of the session cannot be read") from error

    async def whole(self, session: str, user: str | None, name: str) -> bytes | None:
        """The packed result that was kept under this name. Raises `MemoryUnavailable`."""
        (kept,) = await self._guarded.trip([Command(("LRANGE", keys.SessionKeys(session, user).results, 0, -1))])
        return whole_of(kept, name)

    async def listen(self, session: str, user: str | None) -> None:
        """Has calls of this session, wherever they run, told that somebody listens. Raises `MemoryUnavailable`."""
        base = keys.SessionKeys(session, user).base
        await self._guarded.trip([Command(("HSET", base, "listened", 1)), Command(("PEXPIRE", base, SESSION_TTL_MS))])

    async def ping(self, deadline: Deadline) -> None:
        """Raises `MemoryUnavailable` or `MemoryRefused` when Redis is not well."""
        (reply,) = await self._redis.trip([Command(("PING",))], deadline)
        if isinstance(reply, Exception):
            raise reply

    def _begun_alone(self, request: BeginRequest, *, degraded: bool) -> Begun:
        self._behind |= degraded
        retry_after_ms = self._limit_here(request) if degraded else 0
        own = retry_after_ms or request.shared_turn is None
        turn = self._turns.apart(request.turn) if own else self._turns.alone(request.turn, self._clock())
        return Begun(turn, retry_after_ms, degraded=degraded)

    def _limit_here(self, request: BeginRequest) -> int:
        caller = keys.caller(request.user, request.session)
        return self._local_limits.wait_ms(caller) if caller and self._rate and request.limited else 0

    async def _take_back(self, request: BeginRequest, answers: dict[str, Reply]) -> None:
        """Undoes what the other half of the trip began for a call that its user's limit then refused."""
        steps: list[Step] = []
        shared = request.shared_turn
        if shared and answers["turn"] and not answers["turn"][0]:
            steps.append(Evaluation(self._abandon, (shared[1],), (request.turn.name.field,)))
        if request.claim and answers["claim"][0] == b"new":
            steps.append(self.settle(request.claim, None))
        await self.end(steps)


@dataclass(frozen=True, slots=True)
class Conversation:
    """`last` is what this call knows of what was shown last: `alone`, where Redis did not say so."""

    memory: SessionMemory
    session: str
    user: str | None
    last: LastShown | None = None
    alone: bool = False

    async def recall(self) -> Recollection:
        """What Redis knows; without it what is known of what was shown last, and that this is not all."""
        try:
            past = await self.memory.recall(self.session, self.user)
        except MemoryUnavailable:
            return Recollection(last_shown=self.last, known=False)
        return replace(past, last_shown=self._latest(past.last_shown))

    def _latest(self, stored: LastShown | None) -> LastShown | None:
        """What Redis did not say at the call's beginning, this process may know; the names are in Redis."""
        known = self.last if self.alone else None
        return known if known and (stored is None or known.title_ids != stored.title_ids) else stored

    async def whole_result(self, name: str) -> bytes | None:
        """The JSON of a result that was kept under this name. Raises `MemoryUnavailable`."""
        packed = await self.memory.whole(self.session, self.user, name)
        return None if packed is None else unpack(packed)


SNAPSHOT_SECONDS = 0.5
LARGEST_PACKED = 1024 * 1024
LARGEST_BYTES = 16 * LARGEST_PACKED
"""Nothing larger is kept, and nothing is unpacked to more: what is read may be anybody's."""
LEVEL = 1


class Snapshots:
    """Values by their keys, packed, each with a life of its own. For background work: no call waits for one."""

    def __init__(self, memory: SessionMemory) -> None:
        self._memory = memory

    async def load(self, key: str) -> bytes | None:
        """As it was packed; None when there is none. Raises `MemoryUnavailable`."""
        (stored,) = await self._memory.background([Command(("GET", key))], SNAPSHOT_SECONDS)
        return stored if isinstance(stored, bytes) else None

    async def save(self, key: str, packed: bytes, seconds: int) -> bool:
        """Whether it is kept."""
        if len(packed) > LARGEST_PACKED or seconds <= 0:
            return False
        try:
            await self._memory.background([Command(("SET", key, packed, "EX", seconds))], SNAPSHOT_SECONDS)
        except MemoryUnavailable:
            return False
        return True


def pack(content: bytes) -> bytes:
    return zlib.compress(content, LEVEL)


def unpack(packed: bytes) -> bytes | None:
    """None for what `pack` did not make."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(packed, LARGEST_BYTES)
    except zlib.error:
        return None
    return content if unpacking.eof else None
