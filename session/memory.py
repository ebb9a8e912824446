"""What a conversation remembers, in at most two trips to Redis a call: `begin` before the work, `end` after it.

Nothing here may stop a call. Redis late, refusing or away means a `Begun` that says `degraded`, with the turn's budget and
the limits kept in this process, and writes that are dropped.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence

from session import keys
from session.begin import BeginRequest, Begun, Claim, ClaimRequest, ClaimState
from session.failures import MemoryRefused, MemoryUnavailable, PartlyUnavailable
from session.history import SEARCH, HistoryEntry, LastShown, Recollection
from session.recent import RecentSearches
from session.redis.keyvalue import Command, Evaluation, KeyValue, Reply, Step
from session.resilience.breaker import Breaker
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import LocalLimits, Rate
from session.result_cache import decode
from session.scripts import Script
from session.turn import FLOOR_MS, FORGET_MS, RESERVE_MS, Confirmation, TurnArithmetic

TRIP_SECONDS = 0.05
SESSION_TTL_MS = 30 * 60 * 1000
CLAIM_TTL_MS = 15_000
"""Outlives the longest call, so that a claimant that died does not block its key for long."""
NOTHING = "-"
"""Stands for the ids where none were found, which is not the same as nothing having been shown."""
IDEMPOTENCY_TTL_MS = 10 * 60 * 1000


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
        self._breaker = breaker
        self._turns = turns
        self._rate = rate
        self._local_limits = local_limits
        self._clock = clock
        self.recent = RecentSearches(clock)
        self._begin, self._record, self._limit = Script.load("begin"), Script.load("record"), Script.load("limit")
        self._claim, self._settle, self._abandon = Script.load("claim"), Script.load("settle"), Script.load("abandon")

    async def begin(self, request: BeginRequest) -> Begun:
        """The first trip. Never raises for Redis's sake."""
        return self.recent.fill(request, await self._begin_there(request))

    async def _begin_there(self, request: BeginRequest) -> Begun:
        questions = self._questions(request)
        sent = self._clock()
        if not questions:
            return self._begun_alone(request, degraded=False)
        try:
            # A call whose turn is over is answered at once, with or without what Redis knows.
            seconds = TRIP_SECONDS / 2 if self._turns.known_over(request.turn) else None
            replies = await self._trip([step for _, step in questions], seconds)
        except MemoryUnavailable:
            return self._begun_alone(request, degraded=True)
        answers = dict(zip((name for name, _ in questions), replies, strict=True))
        try:
            begun = self._begun(request, sent, answers)
        except (TypeError, ValueError, LookupError, AttributeError):  # whatever answers there does not know the scripts
            return self._begun_alone(request, degraded=True)
        if begun.retry_after_ms:
            await self._take_back(request, answers)
        return begun

    async def end(self, steps: Sequence[Step], seconds: float | None = None) -> bool:
        """The second trip: everything a call leaves behind, together. False when Redis did not confirm it in time, which is
        at most `seconds` where the call has less than a trip's time left."""
        if not steps:
            return True
        try:
            await self._trip(steps, None if seconds is None else min(seconds, TRIP_SECONDS))
        except MemoryUnavailable:
            return False
        return True

    async def background(self, steps: Sequence[Step], seconds: float) -> list[Reply]:
        """A trip that no call waits for. Raises `MemoryUnavailable`."""
        return await self._trip(steps, seconds)

    def record(self, session: str, user: str | None, entry: HistoryEntry, shown: LastShown | None) -> Step:
        own = keys.SessionKeys(session, user)
        last = ("", "", "", "")
        if shown is not None:
            titles = json.dumps(shown.titles, ensure_ascii=False, separators=(",", ":"))
            last = (" ".join(shown.title_ids) or NOTHING, titles, shown.query, shown.by)
        numbers = (int(entry.succeeded), int(entry.cache_hit), entry.latency_ms, entry.tokens)
        return Evaluation(self._record, (own.base, own.history), (SESSION_TTL_MS, entry.as_json(), *numbers, *last))

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
        (removed,) = await self._trip([Command(("UNLINK", *names))])
        return bool(removed)

    async def recall(self, session: str, user: str | None) -> Recollection:
        """Reads a session back. Raises `MemoryUnavailable`."""
        own = keys.SessionKeys(session, user)
        history, stored = await self._trip([Command(("LRANGE", own.history, 0, -1)), Command(("HGETALL", own.base))])
        fields = dict(zip(stored[::2], stored[1::2], strict=True))
        names = (b"calls", b"failures", b"cache_hits", b"latency_ms", b"tokens_out")
        totals = {name.decode(): int(fields.get(name, 0)) for name in names}
        return Recollection([json.loads(call) for call in history], totals, _last_shown(fields))

    async def ping(self, deadline: Deadline) -> None:
        """Raises `MemoryUnavailable` or `MemoryRefused` when Redis is not well."""
        (reply,) = await self._redis.trip([Command(("PING",))], deadline)
        if isinstance(reply, Exception):
            raise reply

    async def _trip(self, steps: Sequence[Step], seconds: float | None = None) -> list[Reply]:
        """One bounded trip behind the breaker. With an error reply nothing of it is used, but only one that is about Redis
        itself counts against it: what is wrong with one call's command takes nobody else's memory away."""
        if not self._breaker.admits():
            raise MemoryUnavailable("Redis is being left alone")
        started, era = self._clock(), self._breaker.era
        allowed = TRIP_SECONDS if seconds is None else seconds
        try:
            replies = await self._redis.trip(steps, Deadline.after(allowed, self._clock))
        except PartlyUnavailable:
            self._breaker.ignored(era)
            raise
        except MemoryUnavailable as failure:
            if allowed <= self._clock() - started < TRIP_SECONDS:
                self._breaker.ignored(era)  # this call was in a hurry, which is not Redis's fault
            else:
                self._breaker.failed(era, str(failure))
            raise
        except BaseException:
            self._breaker.ignored(era)
            raise
        refusals = [reply for reply in replies if isinstance(reply, MemoryRefused)]
        if not refusals:
            self._breaker.succeeded(self._clock() - started, era)
            return replies
        if any(refusal.of_redis_itself for refusal in refusals):
            self._breaker.failed(era, "Redis refused a command")
        else:
            self._breaker.ignored(era)
        raise MemoryUnavailable("Redis refused a command")

    def _questions(self, request: BeginRequest) -> list[tuple[str, Step]]:
        questions: list[tuple[str, Step]] = []
        if shared := request.shared_turn:
            questions.append(("turn", self._ask_turn(request, shared)))
        if self._rate and request.limited and request.user is not None:
            arguments = (self._rate.per_second, self._rate.burst)
            questions.append(("limit", Evaluation(self._limit, (keys.limit(request.user),), arguments)))
        if claim := request.claim:
            arguments_ = (claim.arguments, claim.claimant, CLAIM_TTL_MS)
            questions.append(("claim", Evaluation(self._claim, (claim.record,), arguments_)))
        if request.cached:
            questions.append(("cached", Command(("GET", request.cached))))
        if request.result_set:
            questions.append(("result_set", Command(("GET", request.result_set))))
        return questions

    def _ask_turn(self, request: BeginRequest, shared: tuple[str, str]) -> Evaluation:
        turn, name = request.turn, request.turn.name
        turn_age, call_age = self._turns.ages_ms(turn, self._clock())
        stated = -1 if turn.stated_ms is None else turn.stated_ms
        by_session = self._rate is not None and request.limited and request.user is None and request.session is not None
        rate = (self._rate.per_second, self._rate.burst) if self._rate and by_session else (0, 0)
        ttl = SESSION_TTL_MS if request.session else 0
        budget = (self._turns.budget_ms, stated, RESERVE_MS, FLOOR_MS, FORGET_MS)
        return Evaluation(self._begin, shared, (ttl, name.field, int(name.named), turn_age, call_age, *budget, *rate))

    def _begun(self, request: BeginRequest, sent: float, answers: dict[str, Reply]) -> Begun:
        answer = answers.get("turn")
        retry_after_ms = int(answers.get("limit") or 0)
        if answer is not None and answer[0]:
            retry_after_ms = max(retry_after_ms, int(answer[0]))
        if retry_after_ms:
            # A refused call starts no turn, so it is measured by one of its own that nobody keeps.
            return Begun(self._turns.apart(request.turn), retry_after_ms)
        if answer is None:
            turn, last = self._turns.apart(request.turn), None
        else:
            _, elapsed, total, renewed, clock, *rest = answer
            turn = self._turns.confirmed(request.turn, sent, Confirmation(elapsed, total, bool(renewed), clock))
            last = _last_shown(dict(zip(LAST_FIELDS, rest, strict=False)))
        return Begun(
            turn,
            last=last,
            claim=_read_claim(answers.get("claim")),
            cached=decode(answers.get("cached")),
            result_set=_read_ids(answers.get("result_set")),
        )

    def _begun_alone(self, request: BeginRequest, *, degraded: bool) -> Begun:
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


def _read_claim(answer: list[bytes] | None) -> Claim | None:
    if answer is None:
        return None
    state = ClaimState(answer[0].decode())
    return Claim(state, decode(answer[1]), answer[1]) if state is ClaimState.DONE else Claim(state)


def _read_ids(answer: bytes | None) -> tuple[str, ...] | None:
    return tuple(answer.decode().removeprefix(NOTHING).split()) if answer else None


LAST_FIELDS = (b"ids", b"query", b"by")
"""Of the session's hash, in the order in which begin.lua answers them: the names of the titles are not worth their way."""


def _last_shown(fields: Mapping[bytes, bytes | None]) -> LastShown | None:
    """None where nothing was shown. A record of before there were recommendations in it has no `by`."""
    ids = _read_ids(fields.get(b"ids"))
    if ids is None:
        return None
    titles = json.loads(fields.get(b"titles") or b"[]")
    return LastShown(
        ids, tuple(titles), (fields.get(b"query") or b"").decode(), (fields.get(b"by") or SEARCH.encode()).decode()
    )
