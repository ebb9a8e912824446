"""Session memory in Redis. A call makes two round trips, `begin` before and `end` after the work; some tools add others.

A failure of Redis stops no call. While Redis is slow, failing or absent, `BeginResult.degraded` is True, turns and rate
limits are kept in this process, the conversation's state is written later, and other writes are dropped."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from session import keys, preferences
from session.begin import BeginRequest, BeginResult, Claim, ClaimRequest, decode
from session.failures import MemoryUnavailable
from session.history import MOST_CALLS, HistoryEntry, LastShown, Recollection, compact, read_ids, read_shared
from session.keys import SessionKeys
from session.recent import RecentState, StateWrite
from session.redis.keyvalue import TRIP_SECONDS, Argument, Command, Evaluation, GuardedRedis, KeyValue, Reply, Step
from session.resilience.breaker import CircuitBreaker
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline, Span
from session.resilience.rate_limit import LocalLimits, Rate
from session.resilience.tasks import run_periodically
from session.scripts import Script
from session.turn import FLOOR_MS, FORGET_MS, LEASE_MS, RESERVE_MS, TokenBudget, Turns

SESSION_TTL_MS = 30 * 60 * 1000
IDEMPOTENCY_TTL_MS = 10 * 60 * 1000
CLAIM_TTL_MS = 15_000
"""Milliseconds that a claim lasts: longer than a call by default settings, but short, as a dead claimant blocks its key."""
LARGEST_WHOLE = 16 * 1024
"""Most bytes of a packed full result, of which a session keeps five; 20 titles with all details take a third of it."""
SNAPSHOT_SECONDS = 0.5
LARGEST_PACKED = 1024 * 1024
LARGEST_BYTES = 16 * LARGEST_PACKED
"""Most bytes that `unpack` returns; `save_snapshot` stores at most `LARGEST_PACKED` bytes."""
TOTALS = ("calls", "failures", "cache_hits", "latency_ms", "tokens_out")
REMEMBERED = (b"ids", b"query", b"by", b"title_id", b"title", b"order_id", b"listened", b"ended")
"""Fields of the session hash, in the order of begin.lua's answer. The titles' names are read only with the history."""


class SessionMemory:
    def __init__(
        self,
        redis: KeyValue,
        breaker: CircuitBreaker,
        turns: Turns,
        rate: Rate | None,
        local_limits: LocalLimits,
        clock: Clock = time.monotonic,
    ) -> None:
        self._redis = redis
        self.trip = GuardedRedis(redis, breaker, clock).trip
        self._turns, self._rate, self._local_limits, self._clock = turns, rate, local_limits, clock
        self.recent = RecentState(clock)
        self._ahead_ms = time.time() * 1000 - clock() * 1000  # Redis's clock minus ours; a guess until Redis answers
        self._behind = False
        names = ("begin", "limit", "claim", "record", "remember", "settle", "abandon", "spend", "pause", "forget")
        self._scripts = {name: Script.load(name) for name in names}

    async def begin(self, request: BeginRequest) -> BeginResult:
        """Makes a call's first round trip; `leave` must follow. If Redis fails, returns a degraded result."""
        asked_at = self._clock()
        self._turns.enter(request.turn)
        return self.recent.fill(request, await self._ask(request), asked_at)

    async def _ask(self, request: BeginRequest) -> BeginResult:
        late = self.recent.list_unwritten(request.session, request.user)
        questions = self._questions(request, self._state(late))
        sent = self._clock()
        if not questions:
            return self._begin_alone(request, degraded=False)
        try:
            # A call of an exhausted turn is refused anyway: do not wait long for Redis.
            seconds = TRIP_SECONDS / 2 if self._turns.is_known_exhausted(request.turn) else TRIP_SECONDS
            replies = await self.trip(list(questions.values()), seconds, request.span, "begin")
        except MemoryUnavailable:
            return self._begin_alone(request, degraded=True)
        answers = dict(zip(questions, replies, strict=True))
        try:
            begun = self._read_answers(request, sent, answers)
        except (TypeError, ValueError, LookupError, AttributeError):  # not the scripts' answers
            return self._begin_alone(request, degraded=True)
        if begun.retry_after_ms:
            await self._take_back(request, answers)
        if begun.clock_ms is not None:
            self._ahead_ms = begun.clock_ms - sent * 1000
            self.recent.mark_written(late)
        return begun

    def _questions(self, request: BeginRequest, late: Sequence[Argument]) -> dict[str, Step]:
        """Returns the first round trip's commands by name. `late`: state.lua's arguments for state that Redis lacks."""
        questions: dict[str, Step] = {}
        if shared := request.shared_turn:
            questions["turn"] = self._ask_turn(request, shared, late)
        if self._rate and request.user is not None:
            rate = (self._rate.per_second, self._rate.burst, request.cost)
            questions["limit"] = self._evaluation("limit", (keys.limit(request.user),), rate)
        if claim := request.claim:
            claiming = (claim.arguments, claim.claimant, CLAIM_TTL_MS)
            questions["claim"] = self._evaluation("claim", (claim.record.name,), claiming)
        cached = request.cached.name if request.cached else None
        stored = {"cached": cached, "result_set": request.result_set, "preferences": request.preferences}
        questions |= {name: Command(("GET", key)) for name, key in stored.items() if key}
        if request.history and (own := request.session_keys):
            questions["history"] = Command(("LRANGE", own.history, 0, MOST_CALLS - 1))
            questions["titles"] = Command(("HGET", own.base, "titles"))
        return questions

    def _ask_turn(self, request: BeginRequest, shared: tuple[str, str], late: Sequence[Argument]) -> Step:
        turn, name = request.turn, request.turn.name
        turn_age, call_age = self._turns.ages_ms(turn, self._clock())
        by_session = self._rate if request.user is None and request.session is not None else None
        rate = (by_session.per_second, by_session.burst, request.cost) if by_session else (0, 0, 0)
        own = (SESSION_TTL_MS if request.session else 0, name.field, int(name.is_named), turn_age, call_age)
        stated_ms, stated_tokens = (-1 if each is None else each for each in (turn.stated_ms, turn.stated_tokens))
        budget = (self._turns.budget_ms, stated_ms, RESERVE_MS, FLOOR_MS, FORGET_MS)
        tokens = (self._turns.budget_tokens or -1, stated_tokens)
        calls_only = (turn.longest_ms + LEASE_MS if self._turns.counts_calls else 0, name.pause_ms)
        return self._evaluation(
            "begin", shared, (*own, *budget, *rate, *tokens, *calls_only, " ".join(request.own_fields), *late)
        )

    def _read_answers(self, request: BeginRequest, sent: float, answers: Mapping[str, Reply]) -> BeginResult:
        """Parses the answers of the first round trip. `sent`: when it was sent, in monotonic seconds. Raises TypeError,
        ValueError, LookupError or AttributeError for answers that the scripts do not give."""
        answer, turn = answers.get("turn"), self._turns.unshared(request.turn)
        retry_after_ms = max(int(answers.get("limit") or 0), int(answer[0]) if answer is not None else 0)
        if retry_after_ms:  # rate limited: starts no turn
            return BeginResult(request, turn, retry_after_ms)
        fields, clock_ms = dict[bytes, bytes | None](), None
        if answer is not None:
            _, elapsed, total, renewed, clock_ms, tokens, spent, *rest = answer
            counted = None if tokens < 0 else TokenBudget(tokens, spent)
            turn = self._turns.confirm(request.turn, sent, elapsed, total, clock_ms, counted, renewed=bool(renewed))
            names = (*REMEMBERED, *(each.encode() for each in request.own_fields))
            fields = dict(zip(names, rest, strict=False)) | {b"titles": answers.get("titles")}
        history = answers.get("history")
        return BeginResult(
            request,
            turn,
            last=LastShown.read(fields),
            shared=read_shared(fields),
            stored_fields=fields,
            clock_ms=clock_ms,
            listened=bool(fields.get(b"listened")),
            history=None if history is None else tuple(map(HistoryEntry.read, history)),
            claim=Claim.read(answers.get("claim"), request.claim),
            cached=decode(answers.get("cached"), request.cached),
            result_set=read_ids(answers.get("result_set")),
            preferences=preferences.decode(answers.get("preferences")),
        )

    def _begin_alone(self, request: BeginRequest, *, degraded: bool) -> BeginResult:
        """Begins a call without Redis. `degraded`: True if Redis failed, False if there was nothing to ask."""
        self._behind |= degraded
        caller = keys.caller(request.user, request.session) if degraded and self._rate else None
        retry_after_ms = self._local_limits.wait_ms(caller, request.cost) if caller else 0
        own = retry_after_ms or request.shared_turn is None
        turn = self._turns.unshared(request.turn) if own else self._turns.without_redis(request.turn)
        return BeginResult(request, turn, retry_after_ms, degraded=degraded)

    async def _take_back(self, request: BeginRequest, answers: dict[str, Reply]) -> None:
        """Takes back the turn and the claim that the first round trip of a rate-limited call began."""
        steps: list[Step] = []
        shared = request.shared_turn
        if shared and answers["turn"] and not answers["turn"][0]:
            steps.append(self._evaluation("abandon", (shared[1],), (request.turn.name.field,)))
        if request.claim and answers["claim"][0] == b"new":
            steps.append(self.settle(request.claim, None))
        await self.end(steps)

    async def end(self, steps: Sequence[Step], seconds: float = TRIP_SECONDS, span: Span | None = None) -> bool:
        """Sends a call's second round trip, within `seconds` and `TRIP_SECONDS`. Returns False if Redis failed."""
        if not steps:
            return True
        try:
            await self.trip(steps, min(seconds, TRIP_SECONDS), span, "end")
        except MemoryUnavailable:
            self._behind = True
            return False
        return True

    async def add_refused(self, session: str, user: str | None, entry: HistoryEntry) -> bool:
        """Adds a refused call to the history; returns whether the session has subscribers. Raises `MemoryUnavailable`."""
        listened = Command(("HGET", SessionKeys.of(session, user).base, "listened"))
        _, reply = await self.trip([self.record(session, user, entry), listened])
        return bool(reply)

    def record(
        self, session: str, user: str | None, entry: HistoryEntry, state: Iterable[StateWrite] = (), whole: bytes = b""
    ) -> Step:
        """Returns the Redis command that records a finished call. `state`: the changes of session state that the call made.
        `whole`: compressed full result with id `entry.result`."""
        own = SessionKeys.of(session, user)
        numbers = (int(entry.succeeded), int(entry.cache_hit), entry.latency_ms, entry.tokens)
        kept = b"%s %s" % (entry.result.encode(), whole) if entry.result else b""
        arguments = (SESSION_TTL_MS, compact(entry.as_dict()), *numbers, kept, *self._state(state))
        return self._evaluation("record", (own.base, own.history, own.results), arguments)

    async def run(self) -> NoReturn:
        """Each second, writes the state that Redis missed, if Redis answers again. Runs until cancelled."""
        await run_periodically("state that Redis did not take", self._catch_up)

    async def _catch_up(self) -> float:
        behind, self._behind = self.recent.list_owners_behind() if self._behind else [], False
        for session, user in behind:
            late = self.recent.list_unwritten(session, user)
            step = self._evaluation("remember", (SessionKeys.of(session, user).base,), (SESSION_TTL_MS, *self._state(late)))
            if late and await self.end([step]):
                self.recent.mark_written(late)
        return 1.0

    def _state(self, writes: Iterable[StateWrite]) -> list[Argument]:
        """Flattens writes to the arguments that state.lua takes: group, ms of Redis's clock, number of fields, fields."""
        arguments: list[Argument] = []
        for each in writes:
            at_ms = round(each.made_at * 1000 + self._ahead_ms)
            arguments += (each.group, at_ms, len(each.fields), *(text for pair in each.fields.items() for text in pair))
        return arguments

    def _evaluation(self, script: str, names: Sequence[str], arguments: Sequence[Argument]) -> Evaluation:
        return Evaluation(self._scripts[script], names, arguments)

    def spend(self, request: BeginRequest, tokens: int) -> list[Step]:
        """Counts a call's tokens in this process. Returns the command that counts them in Redis, if the turn is shared."""
        self._turns.spend(request.turn.key, tokens)
        shared = request.shared_turn
        return [self._evaluation("spend", (shared[1],), (request.turn.name.field, tokens))] if shared else []

    def pause(self, request: BeginRequest) -> list[Step]:
        """Returns the command that tells Redis of a call's end; none unless the turn is shared and its clock is `TOOLS`."""
        shared = request.shared_turn if self._turns.counts_calls else None
        return [self._evaluation("pause", (shared[1],), (request.turn.name.field,))] if shared else []

    def leave(self, request: BeginRequest) -> None:
        self._turns.leave(request.turn.key)

    def settle(self, claim: ClaimRequest, result: bytes | None, in_place_of: bytes | None = None) -> Step:
        """Returns the command that records a claimed idempotency key's result, or releases the key if `result` is None. If
        the claim is expired or another call's, the command changes only a record with the unreadable result
        `in_place_of`."""
        found = hashlib.sha1(in_place_of, usedforsecurity=False).hexdigest() if in_place_of is not None else ""
        arguments = (claim.claimant, IDEMPOTENCY_TTL_MS, result or b"", found, claim.arguments)
        return self._evaluation("settle", (claim.record.name,), arguments)

    async def forget(self, session: str, user: str | None) -> bool:
        """Removes a user's session, here and in Redis; returns whether Redis had any of it. Raises `MemoryUnavailable`."""
        self.recent.forget(session, user)
        step = self._evaluation("forget", SessionKeys.of(session, user), (SESSION_TTL_MS,))
        (removed,) = await self.trip([step])
        return bool(removed)

    async def recall(self, session: str, user: str | None) -> Recollection:
        """Reads a session's history and state. Raises `MemoryUnavailable`, also if what is stored cannot be parsed."""
        own = SessionKeys.of(session, user)
        reading = [Command(("LRANGE", own.history, 0, MOST_CALLS - 1)), Command(("HGETALL", own.base))]
        history, stored = (reply or () for reply in await self.trip(reading))
        try:
            fields = dict(zip(stored[::2], stored[1::2], strict=True))
            totals = {name: int(fields.get(name.encode(), 0)) for name in TOTALS}
            return Recollection(tuple(map(HistoryEntry.read, history)), totals, LastShown.read(fields), read_shared(fields))
        except (TypeError, ValueError, AttributeError) as error:
            raise MemoryUnavailable("what is kept of the session cannot be read") from error

    async def mark_listened_to(self, session: str, user: str | None) -> None:
        """Marks the session as having subscribers, for calls in every process. Raises `MemoryUnavailable`."""
        base = SessionKeys.of(session, user).base
        await self.trip([Command(("HSET", base, "listened", 1)), Command(("PEXPIRE", base, SESSION_TTL_MS))])

    async def load_snapshot(self, key: str) -> bytes | None:
        """Returns a compressed copy of a backend's data, with which a new process can answer while the backend is down; None
        if there is none. Raises `MemoryUnavailable`."""
        (stored,) = await self.trip([Command(("GET", key))], SNAPSHOT_SECONDS)
        return stored if isinstance(stored, bytes) else None

    async def save_snapshot(self, key: str, packed: bytes, seconds: int) -> bool:
        """Stores a copy for `seconds`. Returns False if it is too large, `seconds` is not positive, or Redis failed."""
        if len(packed) > LARGEST_PACKED or seconds <= 0:
            return False
        try:
            await self.trip([Command(("SET", key, packed, "EX", seconds))], SNAPSHOT_SECONDS)
        except MemoryUnavailable:
            return False
        return True

    async def ping(self, deadline: Deadline) -> None:
        """Sends PING. Raises `MemoryUnavailable`, or `MemoryRefused` for an error reply."""
        (reply,) = await self._redis.trip([Command(("PING",))], deadline)
        if isinstance(reply, Exception):
            raise reply


@dataclass(frozen=True, slots=True)
class Conversation:
    """Read access to a user's session. `last`: titles shown last, as known to this call. `alone`: Redis lacks `last`."""

    memory: SessionMemory
    session: str
    user: str | None
    last: LastShown | None = None
    alone: bool = False

    async def recall(self) -> Recollection:
        """Reads the session from Redis, plus `last` if Redis lacks it. If Redis fails, returns `last`, with `known`
        False."""
        try:
            past = await self.memory.recall(self.session, self.user)
        except MemoryUnavailable:
            return Recollection(last_shown=self.last, known=False)
        known, stored = self.last if self.alone else None, past.last_shown
        if known and (stored is None or known.title_ids != stored.title_ids):  # else Redis has the names as well
            return replace(past, last_shown=known)
        return past

    async def whole_result(self, name: str) -> bytes | None:
        """Returns the JSON of the full result with this id; None if missing or unreadable. Raises `MemoryUnavailable`."""
        (kept,) = await self.memory.trip([Command(("LRANGE", SessionKeys.of(self.session, self.user).results, 0, -1))])
        prefix = name.encode("utf-8", "replace") + b" "
        packed = next((each.removeprefix(prefix) for each in kept or () if each.startswith(prefix)), None)
        return None if packed is None else unpack(packed)


def pack(content: bytes) -> bytes:
    return zlib.compress(content, 1)


def unpack(packed: bytes) -> bytes | None:
    """Decompresses what `pack` made; returns None if it is damaged, or the content exceeds `LARGEST_BYTES`."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(packed, LARGEST_BYTES)
    except zlib.error:
        return None
    return content if unpacking.eof else None
