"""What the conversation remembers: the turn and its budget, the limits, the last search. One trip before, one after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from server.call import CACHE, LEAST_STEP, PAST_DEADLINE, STALE, Call, Handler, Outcome
from server.identity.request_metadata import (
    checked_budget_ms,
    checked_history,
    checked_key,
    checked_token_budget,
    checked_turn,
)
from server.results import tokens_of
from server.stages.cache import cache_key, opened, words
from server.stages.telemetry import remembered
from session import keys
from session.begin import BeginRequest, Begun, CachedResult, ClaimRequest, digest
from session.history import NOTHING, SHARED, HistoryEntry, LastShown, Recollection
from session.memory import Conversation, SessionMemory
from session.redis.keyvalue import Command, Step
from session.resilience.clocks import WallClock
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from session.stated_preferences import Preferences
from session.turn import TurnName, TurnRequest
from tools.contract import CachePolicy
from tools.results.history import About, bearing, said, summary
from tools.results.referred import one_title
from tools.store.failures import BackendFailure, Failure, RateLimited
from tools.store.store import Store

STORE_SECONDS = 0.06
"""What a call waits for the store, once in half an hour: a read takes five milliseconds."""
SHARE = 1 / 4
"""Of what is left of the turn at most."""
CUSTOMERS = 5_000
DEGRADED = "preferences"


class Stated:
    """Gives each call the preferences of its customer. Of those who have any, only a hash of them is kept in mind."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: Lru[str, str] = Lru(CUSTOMERS)

    def expect(self, call: Call) -> None:
        """Names what the call obeys as this process saw it last."""
        if obeys_preferences_of(call):
            call.obeys = self._seen.use(keys.user_hash(call.customer)) or ""

    async def give(self, call: Call, begun: Begun) -> Begun:
        """Sets what the call obeys, and leaves what was found in the cache for anything else. Where nobody can tell, the
        call goes on without, and says so."""
        if not obeys_preferences_of(call) or call.customer is None:
            return begun
        expected = call.obeys
        if begun.preferences is not None:
            call.preferences = self._store.preferences.current(begun.preferences)
        else:
            await self._ask(call, call.customer, begun)
        call.obeys = hash_preferences(call.preferences)
        self._seen.put(keys.user_hash(call.customer), call.obeys)
        return begun if call.obeys == expected else replace(begun, cached=None)

    async def _ask(self, call: Call, user: str, begun: Begun) -> None:
        seconds = min(STORE_SECONDS, SHARE * max(0, begun.turn.remaining_ms()) / 1000)
        deadline = Deadline.after(seconds, call.clock).in_span(call.span)
        try:
            call.preferences = await self._store.preferences.read(user, deadline)
        except BackendFailure:
            call.degraded.add(DEGRADED)
        else:
            call.pending_writes.append(self._store.preferences.copy(user, call.preferences))


def obeys_preferences_of(call: Call) -> bool:
    """Whether there may be anything that the call has to obey."""
    return call.tool.tool.obeys_preferences and call.customer is not None


def hash_preferences(preferences: Preferences) -> str:
    """Stands for the words; "" for none, so that all who have none share what is cached."""
    return digest(*(each.text for each in preferences)) if preferences else ""


def summarise_history(call: Call, begun: Begun, now: float) -> str | None:
    """Returns None where it was not asked for. `now` is in seconds since the epoch."""
    most = call.begin_request.history if call.begin_request else None
    if most is None:
        return None
    known = begun.history is not None or call.session is None
    past = Recollection(begun.history or (), last_shown=begun.last, shared=begun.shared, known=known)
    about = About.call(call.tool.tool, call.arguments, begun.last_ids)
    return summary(past, bearing(past.calls, about, most), now)


MOST_SHOWN = 5
"""Titles that an entry names: more are in what was shown last."""
LONGEST_WORDS = 200


def make_entry(call: Call, outcome: Outcome, shown: LastShown | None, shared: Mapping[str, str], now: float) -> HistoryEntry:
    """`shown` and `shared` are what the call leaves for others. The words of a call that broke a rule stay out."""
    summary = outcome.failure.name if outcome.failure else call.tool.tool.summary(outcome.value or {})
    return HistoryEntry(
        tool=call.name,
        arguments=remembered(call, outcome),
        summary=summary,
        succeeded=outcome.succeeded,
        latency_ms=round(call.elapsed_ms()),
        cache_hit=outcome.source == CACHE,
        tokens=call.tokens,
        at=round(now, 3),
        words=said(call.tool.tool, call.arguments)[:LONGEST_WORDS] if call.validated else "",
        shown=_titles(shown, shared),
    )


def _titles(shown: LastShown | None, shared: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    if shown is not None:
        return tuple(zip(shown.title_ids, shown.titles, strict=True))[:MOST_SHOWN]
    title_id = shared.get("title_id")
    return ((title_id, shared.get("title", "")),) if title_id else ()


RESULT_SET_SECONDS = 30 * 60
LONGEST_QUERY = 200
LONGEST_SHARED = 200


def collect_writes(call: Call, outcome: Outcome, memory: SessionMemory, now: float) -> list[Step]:
    """Returns what the stages within want written, the result set of what it shows, and the call itself in its session's
    history. `now` is in seconds since the epoch."""
    shown = _shown(call, outcome)
    steps = [*call.pending_writes]
    if call.turn is not None and call.turn.tokens is not None and call.begin_request is not None:
        steps += memory.spend(call.begin_request, call.tokens)
    if call.begin_request is not None:
        steps += memory.pause(call.begin_request)
    if shown is not None and outcome.value is not None and call.begin_request is not None:
        memory.recent.keep_set(keys.result_set(str(outcome.value["result_set"])), shown.title_ids)
    if shown is not None and not _is_kept(call, outcome):
        steps.append(_result_set(call, outcome, shown))
    if call.session is not None and call.tool.tool.recorded:
        steps.append(_record(call, outcome, memory, shown, now))
    return steps


def _record(call: Call, outcome: Outcome, memory: SessionMemory, shown: LastShown | None, now: float) -> Step:
    assert call.session is not None
    shared = _shared(call, outcome, shown)
    if call.begin_request is not None:
        call.left = memory.recent.keep(call.begin_request, shown, shared)
    entry = make_entry(call, outcome, shown, shared, now)
    kept = replace(entry, result=call.call_id) if call.packed else entry
    return memory.record(call.session, call.principal.user, kept, shown, shared, call.packed)


def _is_kept(call: Call, outcome: Outcome) -> bool:
    """Whether the result set was kept with the result: one from the cache may show less of it since, by today's stock."""
    cached = call.begun.cached if call.begun else None
    if outcome.source not in (CACHE, STALE) or cached is None or outcome.value is None:
        return False
    return bool(cached.value.get("result_set") == outcome.value.get("result_set"))


def _shown(call: Call, outcome: Outcome) -> LastShown | None:
    shown = call.tool.tool.shown
    if shown is None or outcome.value is None:
        return None
    last = shown(call.arguments, outcome.value)
    return last if len(last.query) <= LONGEST_QUERY else replace(last, query=last.query[:LONGEST_QUERY])


def _shared(call: Call, outcome: Outcome, shown: LastShown | None) -> Mapping[str, str]:
    """What later calls may refer to without naming it. A list that was shown says so by itself."""
    shares = call.tool.tool.shares
    if shown is not None:
        titles = zip(shown.title_ids, shown.titles, strict=True)
        shared = one_title({"title_id": title_id, "title": title} for title_id, title in titles)
    else:
        shared = dict(shares(outcome.value)) if shares is not None and outcome.value is not None else {}
    return {name: value[:LONGEST_SHARED] for name, value in shared.items() if name in SHARED}


def _result_set(call: Call, outcome: Outcome, shown: LastShown) -> Command:
    assert outcome.value is not None
    policy = call.tool.tool.cache or CachePolicy(0, 0)
    key = keys.result_set(str(outcome.value["result_set"]))
    seconds = RESULT_SET_SECONDS + policy.stale_seconds
    return Command(("SET", key, " ".join(shown.title_ids) or NOTHING, "EX", seconds))


SKEW_SECONDS = 60.0
"""The clocks of two hosts may differ by so much. What was made later than that is from nobody's clock."""


def begin_request(call: Call, *, cache: bool) -> BeginRequest:
    """Puts the question together. Raises `InvalidArguments` for what the caller said of turn, budget or key."""
    user, session = call.principal.user, call.session
    name = checked_turn(call.metadata)
    turn_key = f"{session or ''}|{keys.user_hash(user)}|{name.field}"
    wanted_set = call.arguments.get("result_set")
    return BeginRequest(
        session=session,
        user=user,
        turn=_turn_request(call, turn_key, name),
        limited=True,
        claim=_claim(call),
        cached=cache_key(call) if cache else None,
        result_set=keys.result_set(str(wanted_set).lower()) if wanted_set else None,
        history=checked_history(call.metadata.history),
        preferences=keys.preferences(user) if user is not None and obeys_preferences_of(call) else None,
        span=call.span,
    )


def _turn_request(call: Call, key: str, name: TurnName) -> TurnRequest:
    left_ms = checked_budget_ms(call.metadata.turn_budget_ms)
    tokens, longest_ms = checked_token_budget(call.metadata.token_budget), call.tool.tool.timeout_ms
    return TurnRequest(key, name, call.arrived, left_ms, tokens, longest_ms)


def _claim(call: Call) -> ClaimRequest | None:
    key = checked_key(call.metadata.idempotency_key)
    user, session = call.principal.user, call.session
    tool = call.tool.tool
    if key is None or tool.personal or not tool.recorded or (user is None and session is None):
        return None
    whose = ("impersonal",) if call.impersonal else ()
    return ClaimRequest(keys.idempotency(user, session, key), digest(call.name, call.arguments, *whose), call.call_id)


def drop_foreign_results(call: Call, begun: Begun, now: float) -> Begun:
    """Returns it without results that this version could not have written, or that nobody wrote yet: they are as if there
    were none, and the call that finds one writes a right one in its place."""
    claim = begun.claim
    if claim is not None and claim.result is not None and not _ours(call, claim.result, now):
        claim = replace(claim, result=None)
    cached = _opened(call, begun.cached) if begun.cached is not None else None
    begun.cached = cached if cached is not None and _ours(call, cached, now) else None
    begun.claim = claim
    return begun


def _opened(call: Call, kept: CachedResult) -> CachedResult | None:
    value = opened(kept.value, call.tool.tool.echoes, call.arguments, words(call))
    return None if value is None else replace(kept, value=value)


def _ours(call: Call, result: CachedResult, now: float) -> bool:
    return 0 <= result.made_at <= now + SKEW_SECONDS and call.tool.fits(result.value)


Recorded = Callable[[str, str | None], None]
"""(session, user) whose history has grown. It neither waits nor fails."""
MOST_WHEN_OVER = 0.04
"""Seconds from its arrival, for a call whose turn is over: its answer is to leave within 50 ms."""


def ignore_recorded(session: str, user: str | None) -> None:
    """Where nobody can listen."""


class SessionStage:
    """Sets `begin_request`, `begun`, `preferences`, `conversation`, `history` and `deadline`; writes what the call leaves
    behind."""

    def __init__(
        self,
        memory: SessionMemory,
        stated: Stated,
        call_timeout_ms: int,
        *,
        cache: bool,
        wall: WallClock,
        recorded: Recorded = ignore_recorded,
    ) -> None:
        """`recorded` is told of each call that the history of a session has taken up, where somebody listens."""
        self._memory = memory
        self._stated = stated
        self._recorded = recorded
        self._call_timeout_ms = call_timeout_ms
        self._cache = cache
        self._wall = wall

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        self._stated.expect(call)
        request = call.begin_request = begin_request(call, cache=self._cache)
        try:
            return await self._within(call, request, inner)
        finally:
            self._memory.leave(request)

    async def _within(self, call: Call, request: BeginRequest, inner: Handler) -> Outcome:
        begun = await self._memory.begin(request)
        if not begun.retry_after_ms:
            begun = await self._stated.give(call, begun)
        begun = call.begun = drop_foreign_results(call, begun, self._wall())
        if begun.degraded or begun.forgotten:
            call.degraded.add("session")
        if begun.retry_after_ms:
            raise RateLimited("Too many calls. Wait a moment.", retry_after_ms=begun.retry_after_ms)
        self._recall(call, begun)
        call.deadline = self._deadline(call, begun)
        if call.span is not None:
            call.span.timeline.deadline = call.deadline.at
        try:
            outcome = await inner(call)
        except Failure as failure:
            await self._leave(call, Outcome(failure=failure))
            raise
        await self._leave(call, outcome)
        return outcome

    def _recall(self, call: Call, begun: Begun) -> None:
        if call.session is not None:
            alone = begun.degraded or begun.forgotten
            call.conversation = Conversation(self._memory, call.session, call.principal.user, begun.last, alone)
        call.history = summarise_history(call, begun, self._wall())

    def _deadline(self, call: Call, begun: Begun) -> Deadline:
        allowed = begun.turn.allowance_ms(call.tool.tool.timeout_ms, call.expected_calls) / 1000
        latest = Deadline(call.arrived + self._call_timeout_ms / 1000, begun.turn.ends.clock)
        return latest.within(allowed)

    async def _leave(self, call: Call, outcome: Outcome) -> None:
        """Makes the second trip. What could not be written in time is lost, and said so."""
        call.tokens = tokens_of(call, outcome)
        steps = collect_writes(call, outcome, self._memory, self._wall())
        if call.begun is None or call.begin_request is None or call.begun.degraded:
            return
        if await self._memory.end(steps, _patience(call), call.span):
            self._memory.recent.written(call.left)
            if call.begun.listened and call.session is not None and call.tool.tool.recorded:
                self._recorded(call.session, call.principal.user)
        else:
            call.degraded.add("session")


def _patience(call: Call) -> float:
    """Returns seconds that the record may take. It has been sent by then, and is waited for as long as the answer is not
    late."""
    assert call.deadline is not None
    latest = call.arrived + MOST_WHEN_OVER if call.turn and call.turn.exhausted else call.deadline.at + PAST_DEADLINE
    return max(LEAST_STEP, latest - call.clock())
