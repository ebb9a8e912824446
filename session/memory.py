"""What a conversation remembers, in at most two trips to Redis a call: `begin` before the work, `end` after it.

Nothing here may stop a call. Redis late, refusing or away means a `Begun` that says `degraded`, with the turn's budget and
the limits kept in this process, and writes that are dropped.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from session import keys
from session import opening as recollection
from session.begin import BeginRequest, Begun, ClaimRequest
from session.failures import MemoryUnavailable
from session.history import HistoryEntry, LastShown, Recollection
from session.local.recent import Left, RecentSearches
from session.local.turns import TurnArithmetic
from session.opening import SESSION_TTL_MS, Group, Opening, Recording, state_arguments
from session.redis.keyvalue import TRIP_SECONDS, Command, Evaluation, GuardedRedis, KeyValue, Reply, Step
from session.resilience.breaker import Breaker
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline, Interval
from session.resilience.rate_limit import LocalLimits, Rate
from session.resilience.tasks import run_periodically
from session.scripts import Script

IDEMPOTENCY_TTL_MS = 10 * 60 * 1000
CATCH_UP_SECONDS = 1.0


class SessionMemory:
    """The one place that talks to Redis on behalf of a call."""

    def __init__(
        self,
        redis: KeyValue,
        breaker: Breaker,
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
        self.recent = RecentSearches(clock)
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
            seconds = TRIP_SECONDS / 2 if self._turns.known_over(request.turn) else None
            replies = await self._guarded.trip(list(questions.values()), seconds, request.interval, "begin")
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

    async def end(self, steps: Sequence[Step], seconds: float | None = None, interval: Interval | None = None) -> bool:
        """The second trip: everything a call leaves behind, together. False when Redis did not confirm it in time, which is
        at most `seconds` where the call has less than a trip's time left. It is noted within `interval`."""
        if not steps:
            return True
        try:
            await self._guarded.trip(steps, None if seconds is None else min(seconds, TRIP_SECONDS), interval, "end")
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

    def _groups(self, left: Iterable[Left]) -> list[Group]:
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
        replies = await self._guarded.trip(recollection.reading(keys.SessionKeys(session, user)))
        try:
            return recollection.read(replies)
        except (TypeError, ValueError, AttributeError) as error:
            raise MemoryUnavailable("what is kept of the session cannot be read") from error

    async def whole(self, session: str, user: str | None, name: str) -> bytes | None:
        """The packed result that was kept under this name. Raises `MemoryUnavailable`."""
        (kept,) = await self._guarded.trip([Command(("LRANGE", keys.SessionKeys(session, user).results, 0, -1))])
        return recollection.whole_of(kept, name)

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
