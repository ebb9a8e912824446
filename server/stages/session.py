"""The session stage makes one Redis round trip before the call, the begin trip, and one after it, the end trip.

The begin trip reads the turn's budget, the rate limit and the session; the end trip records the call. The stage sets the
call's `begin_result`, `preferences`, `conversation`, `history` and `deadline`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from server.call import CACHE, GRACE_SECONDS, MIN_STEP_SECONDS, STALE, Call, Handler, Outcome
from server.identity.request_metadata import (
    Identifier,
    checked_budget_ms,
    checked_history,
    checked_key,
    checked_session,
    checked_token_budget,
    checked_turn,
)
from server.results import tokens_of
from server.stages.cache import cache_key
from server.stages.telemetry import select_remembered
from session import keys
from session.begin import BeginRequest, BeginResult, CachedResult, CacheKey, ClaimRequest, digest
from session.failures import MemoryUnavailable
from session.history import NOTHING, SHARED, HistoryEntry, LastShown, Recollection, as_fields, own_fields
from session.memory import Conversation, SessionMemory
from session.recent import StateWrite
from session.redis.keyvalue import Command, Step
from session.resilience.clocks import Clock, WallClock
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from session.resilience.rate_limit import LocalLimits, Rate
from session.resilience.tasks import Tasks
from session.turn import TurnRequest
from tools.contract import CachePolicy, Effect
from tools.results.history import customer_words, select_for_call, summarise
from tools.results.referred import single_title
from tools.store.failures import BackendFailure, Failure, RateLimited, ServerBusy
from tools.store.store import Store

logger = logging.getLogger(__name__)
MOST_PENDING = 20
REPEATED = Rate(1, 1)
"""Rate limit for recording each kind of overload in a session: a client that retries does not fill its history."""


class CallPreferences:
    """Sets customers' preferences on calls. Keeps a hash of each customer's, to predict the cache key before the read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: Lru[str, str] = Lru(5_000)

    def expect(self, call: Call) -> None:
        """Sets `call.preferences_hash` to the customer's last known hash, or to "" if none is known."""
        if obeys_preferences_of(call):
            call.preferences_hash = self._seen.use(keys.user_hash(call.customer)) or ""

    async def apply(self, call: Call, begun: BeginResult) -> BeginResult:
        """Sets `call.preferences` and `call.preferences_hash`. Returns `begun`, without its cached result if that was made
        for other preferences. If Redis lacks the preferences and the store fails, the call continues degraded."""
        if not obeys_preferences_of(call) or call.customer is None:
            return begun
        expected = call.preferences_hash
        if begun.preferences is not None:
            call.preferences = self._store.preferences.current(begun.preferences)
        else:
            await self._read(call, call.customer, begun)
        # Empty without preferences, so that all customers without them share cached results.
        call.preferences_hash = digest(*(each.text for each in call.preferences)) if call.preferences else ""
        self._seen.put(keys.user_hash(call.customer), call.preferences_hash)
        return begun if call.preferences_hash == expected else replace(begun, cached=None)

    async def _read(self, call: Call, user: str, begun: BeginResult) -> None:
        # A read usually takes 5 ms, and is due once in half an hour for each active customer.
        seconds = min(0.06, begun.turn.remaining_ms() / 4 / 1000)
        try:
            deadline = Deadline.after(seconds, call.clock).in_span(call.span)
            call.preferences = await self._store.preferences.read(user, deadline)
        except BackendFailure:
            call.degraded.add("preferences")
        else:
            call.pending_writes.append(self._store.preferences.copy(user, call.preferences))


def obeys_preferences_of(call: Call) -> bool:
    return call.tool.tool.obeys_preferences and call.customer is not None


def make_request(call: Call, *, cache: bool, secret: str) -> BeginRequest:
    """Builds the request of the begin trip (the call's first Redis round trip), which reads the cached result if `cache`.
    `secret`, which all processes share, seals idempotency records.
    Raises `InvalidArguments` for a malformed turn, budget, idempotency key or history length."""
    user, session, metadata = call.principal.user, call.session, call.metadata
    name = checked_turn(metadata)
    result_set = call.arguments.get("result_set")
    return BeginRequest(
        session=session,
        user=user,
        turn=TurnRequest(
            f"{session or ''}|{keys.user_hash(user)}|{name.field}",
            name,
            call.arrived,
            checked_budget_ms(metadata.turn_budget_ms),
            checked_token_budget(metadata.token_budget),
            call.tool.tool.timeout_ms,
        ),
        cost=call.cost,
        claim=_claim(call, secret),
        cached=cache_key(call) if cache else None,
        result_set=keys.result_set(str(result_set).lower()) if result_set else None,
        history=checked_history(metadata.history),
        preferences=keys.preferences(user) if user is not None and obeys_preferences_of(call) else None,
        own_fields=own_fields(call.tool.tool.reads),
        span=call.span,
    )


def _claim(call: Call, secret: str) -> ClaimRequest | None:
    key, user, session, tool = checked_key(call.metadata.idempotency_key), call.principal.user, call.session, call.tool.tool
    reads_personal = tool.personal and tool.effect is Effect.READS
    if key is None or reads_personal or tool.is_primitive or (user is None and session is None):
        return None
    asked = (call.name, call.arguments, *(("impersonal",) if call.names_other_user else ()))
    # The user themselves and not their hash, which stands in the record's name.
    owner = {"user": user} if user is not None else {"session": session}
    record = CacheKey.of_record(keys.idempotency(user, session, key), secret, owner, *asked)
    return ClaimRequest(record, digest(*asked), call.call_id)


def drop_foreign_results(call: Call, begun: BeginResult, now: float) -> BeginResult:
    """Returns `begun` without results that are dated more than a minute ahead (hosts' clocks differ) or do not fit this
    version of the tool, which then runs instead. `now` is in seconds since the epoch."""

    def is_ours(result: CachedResult) -> bool:
        return 0 <= result.made_at <= now + 60 and call.tool.fits(result.value)

    claim, cached = begun.claim, begun.cached
    if claim is not None and claim.result is not None and not is_ours(claim.result):
        claim = replace(claim, result=None)
    return replace(begun, claim=claim, cached=cached if cached is not None and is_ours(cached) else None)


def summarise_history(call: Call, begun: BeginResult, now: float) -> str | None:
    """Returns a summary of the session's earlier calls; None unless the client requests it (`history` in `_meta`)."""
    if begun.request.history is None:
        return None
    known = begun.history is not None or call.session is None
    past = Recollection(begun.history or (), last_shown=begun.last, shared=begun.shared, known=known)
    calls = select_for_call(past.calls, begun.request.history, call.tool.tool, call.arguments, begun.last_ids)
    return summarise(past, calls, now)


RESULT_SET_SECONDS = 30 * 60
LONGEST_TEXT = 200
"""Maximum characters of a query, a value under a key of `SHARED`, or the customer's words that a session keeps."""
LARGEST_OWN = 1_000
"""Maximum bytes of a value that a tool shares under a key of its own (`TOOL.key`)."""


def plan_end(call: Call, outcome: Outcome, memory: SessionMemory, now: float) -> tuple[list[Step], list[StateWrite]]:
    """Returns the Redis commands of a call's end trip (its last round trip), and the session state that they write. Also
    counts the call's tokens and keeps that state in this process."""
    begun, tool, shown = call.required_begin, call.tool.tool, None
    if tool.shown is not None and outcome.value is not None:
        last = tool.shown(call.arguments, outcome.value)
        shown = replace(last, query=last.query[:LONGEST_TEXT])
    steps: list[Step] = [*call.pending_writes]
    if begun.turn.tokens is not None:
        steps += memory.spend(begun.request, call.tokens)
    steps += memory.pause(begun.request)
    if shown is not None and outcome.value is not None:
        key = keys.result_set(str(outcome.value["result_set"]))
        memory.recent.keep_set(key, shown.title_ids)
        # A cached result's set was stored with it, unless current stock has removed rows and so renamed the set.
        cached = begun.cached if outcome.source in (CACHE, STALE) else None
        if cached is None or cached.value.get("result_set") != outcome.value["result_set"]:
            seconds = RESULT_SET_SECONDS + (tool.cache or CachePolicy(0, 0)).stale_seconds
            steps.append(Command(("SET", key, " ".join(shown.title_ids) or NOTHING, "EX", seconds)))
    if call.session is None or tool.is_primitive:
        return steps, []
    shared = _shared_values(call, outcome, shown)
    state = memory.recent.keep(begun.request, shown, shared)
    entry = make_entry(call, outcome, shown, shared, now)
    return [*steps, memory.record(call.session, call.principal.user, entry, state, outcome.packed)], state


def _shared_values(call: Call, outcome: Outcome, shown: LastShown | None) -> Mapping[str, str]:
    """Returns values that later calls of the session may refer to, as hash fields: the title if the call showed only one, or
    the values that the tool shares. Cuts values of `SHARED`. Logs and drops others, if too large or not in `Tool.leaves`."""
    shares = call.tool.tool.shares
    if shown is not None:
        titles = zip(shown.title_ids, shown.titles, strict=True)
        shared = single_title({"title_id": title_id, "title": title} for title_id, title in titles)
    else:
        shared = dict(shares(outcome.value)) if shares is not None and outcome.value is not None else {}
    common = {name: value[:LONGEST_TEXT] for name, value in shared.items() if name in SHARED}
    own = {name: value for name, value in shared.items() if name not in SHARED}
    for name in [each for each in own if each not in call.tool.tool.leaves or len(own[each].encode()) > LARGEST_OWN]:
        logger.warning("%s cannot share %.80r: it is not in leaves, or has over %d bytes", call.name, name, LARGEST_OWN)
        del own[name]
    return common | as_fields(own)


def make_entry(call: Call, outcome: Outcome, shown: LastShown | None, shared: Mapping[str, str], now: float) -> HistoryEntry:
    titles: tuple[tuple[str, str], ...] = ()
    if shown is not None:
        titles = tuple(zip(shown.title_ids, shown.titles, strict=True))[:5]  # `LastShown` has all
    elif title_id := shared.get("title_id"):
        titles = ((title_id, shared.get("title", "")),)
    return HistoryEntry(
        tool=call.name,
        arguments=select_remembered(call, outcome),
        summary=outcome.failure.name if outcome.failure else call.tool.tool.summary(outcome.value or {}),
        succeeded=outcome.has_succeeded,
        latency_ms=round(call.elapsed_ms()),
        cache_hit=outcome.source == CACHE,
        tokens=call.tokens,
        at=round(now, 3),
        words=customer_words(call.tool.tool, call.arguments)[:LONGEST_TEXT] if call.validated else "",
        shown=titles,
        result=call.call_id if outcome.packed else "",
    )


Recorded = Callable[[str, str | None], None]
"""Called with a (session, user) that has listeners and whose history has grown; returns at once and never raises."""
EXHAUSTED_SECONDS = 0.04
"""Seconds after arrival by which a call of an exhausted turn must be recorded: its answer leaves within 50 ms."""


class SessionStage:
    def __init__(
        self,
        memory: SessionMemory,
        preferences: CallPreferences,
        call_timeout_ms: int,
        *,
        cache: bool,
        wall: WallClock,
        recorded: Recorded = lambda session, user: None,
        secret: str = "",
    ) -> None:
        self._memory, self._preferences, self._recorded = memory, preferences, recorded
        self._call_timeout_ms, self._cache, self._wall, self._secret = call_timeout_ms, cache, wall, secret

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        self._preferences.expect(call)
        request = make_request(call, cache=self._cache, secret=self._secret)
        try:
            await self._begin(call, request)
            try:
                outcome = await inner(call)
            except Failure as failure:
                await self._end(call, Outcome(failure=failure))
                raise
            await self._end(call, outcome)
            return outcome
        finally:
            self._memory.leave(request)

    async def _begin(self, call: Call, request: BeginRequest) -> None:
        begun = await self._memory.begin(request)
        if not begun.retry_after_ms:
            begun = await self._preferences.apply(call, begun)
        begun = call.begin_result = drop_foreign_results(call, begun, self._wall())
        alone = begun.degraded or begun.lost_by_redis
        if alone:
            call.degraded.add("session")
        if begun.retry_after_ms:
            raise RateLimited("Too many calls. Wait a moment.", retry_after_ms=begun.retry_after_ms)
        if call.session is not None:
            call.conversation = Conversation(self._memory, call.session, call.principal.user, begun.last, alone)
        call.history = summarise_history(call, begun, self._wall())
        allowed = begun.turn.allowance_ms(call.tool.tool.timeout_ms, call.expected_calls) / 1000
        call.deadline = Deadline(call.arrived + self._call_timeout_ms / 1000, begun.turn.ends.clock).within(allowed)
        if call.span is not None:
            call.span.timeline.deadline = call.deadline.at

    async def _end(self, call: Call, outcome: Outcome) -> None:
        call.tokens = tokens_of(call, outcome)
        (steps, state), begun = plan_end(call, outcome, self._memory, self._wall()), call.required_begin
        if begun.degraded:
            return
        latest = call.arrived + EXHAUSTED_SECONDS if begun.turn.exhausted else call.required_deadline.at + GRACE_SECONDS
        if not await self._memory.end(steps, max(MIN_STEP_SECONDS, latest - call.clock()), call.span):
            call.degraded.add("session")
            return
        self._memory.recent.mark_written(state)
        if begun.listened and call.session is not None and not call.tool.tool.is_primitive:
            self._recorded(call.session, call.principal.user)


class RefusedCalls:
    """Records calls, in the background, that were refused before the session stage could record them. Leaves out calls
    without a session or an identified caller, repeated overload, and calls while `MOST_PENDING` are being recorded."""

    def __init__(
        self, memory: SessionMemory, identifier: Identifier, clock: Clock, wall: WallClock, recorded: Recorded
    ) -> None:
        self._memory, self._identifier, self._wall, self._recorded = memory, identifier, wall, recorded
        self._pending = Tasks()
        self._repeated = LocalLimits(REPEATED, clock, capacity=1_000)

    def note(self, call: Call, failure: Failure) -> None:
        is_recorded = call.begin_result is not None and not call.begin_result.retry_after_ms
        if is_recorded or call.tool.tool.is_primitive or len(self._pending) >= MOST_PENDING:
            return
        self._pending.start(self._record(call, failure), "refused calls")

    async def _record(self, call: Call, failure: Failure) -> None:
        session, user = call.session, call.principal.user
        if session is None and not call.metadata.user_conflict:  # refused before the identity stage
            try:
                session = checked_session(call.metadata.session) or call.transport_session
                user = (await self._identifier.identify(call.metadata, call.bearer)).user
            except Failure:
                return
        if session is None:
            return
        is_overload = isinstance(failure, RateLimited | ServerBusy)
        if is_overload and self._repeated.wait_ms(f"{session}|{keys.user_hash(user)}|{failure.name}"):
            return
        entry = make_entry(call, Outcome(failure=failure), None, {}, self._wall())
        with suppress(MemoryUnavailable):
            if await self._memory.add_refused(session, user, entry):
                self._recorded(session, user)
