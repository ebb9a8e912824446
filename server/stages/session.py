"""What the conversation remembers: the turn and its budget, the limits, the last search. One trip before, one after."""

from __future__ import annotations

import time
from dataclasses import replace

from server.call import CACHE, STALE, Call, Handler, Outcome
from server.results import compact
from server.stages.telemetry import remembered
from server.stated import checked_budget_ms, checked_key, checked_turn
from session import keys
from session.begin import BeginRequest, Begun, ClaimRequest
from session.deadline import Deadline
from session.history import HistoryEntry, LastSearch
from session.keyvalue import Command
from session.limits import LocalLimits
from session.memory import SessionMemory
from session.result_cache import digest
from session.turn import TurnRequest
from tools.contract import CachePolicy
from tools.failures import Failure, RateLimited

RESULT_SET_SECONDS = 30 * 60
LONGEST_QUERY = 200
BYTES_A_TOKEN = 4


class OpenSession:
    """Sets `begin_request`, `begun` and `deadline`; writes what the call leaves behind."""

    def __init__(self, memory: SessionMemory, address_limits: LocalLimits | None, call_timeout_ms: int, cache: bool) -> None:
        self._memory = memory
        self._address_limits = address_limits
        self._call_timeout_ms = call_timeout_ms
        self._cache = cache

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        self._check_address(call)
        request = call.begin_request = self._request(call)
        begun = call.begun = await self._memory.begin(request)
        if begun.degraded:
            call.degraded.add("session")
        if begun.retry_after_ms:
            raise RateLimited("Too many calls. Wait a moment.", retry_after_ms=begun.retry_after_ms)
        call.deadline = self._deadline(call, begun)
        try:
            outcome = await inner(call)
        except Failure as failure:
            await self._leave(call, Outcome(failure=failure))
            raise
        if outcome.value is not None:
            outcome = replace(outcome, text=compact(outcome.value))
        await self._leave(call, outcome)
        return outcome

    def _check_address(self, call: Call) -> None:
        """Only callers without user and session: an agent's many customers share its address."""
        if self._address_limits is None or call.address is None or call.session or call.principal.user is not None:
            return
        if wait_ms := self._address_limits.wait_ms(f"address:{call.address}"):
            raise RateLimited("Too many calls from this address.", retry_after_ms=wait_ms)

    def _request(self, call: Call) -> BeginRequest:
        user, session = call.principal.user, call.session
        name = checked_turn(call.stated)
        turn_key = f"{session or ''}|{keys.user_hash(user)}|{name.field}"
        wanted_set = call.arguments.get("result_set")
        return BeginRequest(
            session=session,
            user=user,
            turn=TurnRequest(turn_key, name, call.arrived, checked_budget_ms(call.stated.turn_budget_ms)),
            limited=True,
            claim=self._claim(call),
            cached=cache_key(call) if self._cache else None,
            result_set=keys.result_set(str(wanted_set).lower()) if wanted_set else None,
        )

    def _claim(self, call: Call) -> ClaimRequest | None:
        key = checked_key(call.stated.idempotency_key)
        user, session = call.principal.user, call.session
        if key is None or call.tool.tool.personal or (user is None and session is None):
            return None
        return ClaimRequest(keys.idempotency(user, session, key), digest(call.name, call.arguments), call.call_id)

    def _deadline(self, call: Call, begun: Begun) -> Deadline:
        allowed = begun.turn.allowance_ms(call.tool.tool.timeout_ms, call.expected_calls) / 1000
        latest = Deadline(call.arrived + self._call_timeout_ms / 1000, begun.turn.ends.clock)
        return latest.within(allowed)

    async def _leave(self, call: Call, outcome: Outcome) -> None:
        """The second trip. What could not be written in time is lost, and said so."""
        search = _search(call, outcome)
        steps = [*call.leaves]
        if search is not None and outcome.source not in (CACHE, STALE):
            steps.append(_result_set(call, outcome, search))
        if call.session is not None:
            entry = _entry(call, outcome)
            steps.append(self._memory.record(call.session, call.principal.user, entry, search))
        if call.begun and not call.begun.degraded and not await self._memory.end(steps):
            call.degraded.add("session")


def cache_key(call: Call) -> str | None:
    """The same for everybody unless the tool's results depend on the user."""
    policy = call.tool.tool.cache
    if policy is None:
        return None
    owner = keys.user_hash(call.principal.user) if policy.per_user else ""
    return keys.cached_result(call.name, digest(call.arguments, owner))


def _search(call: Call, outcome: Outcome) -> LastSearch | None:
    found = call.tool.tool.found
    if found is None or outcome.value is None:
        return None
    search = found(call.arguments, outcome.value)
    return search if len(search.query) <= LONGEST_QUERY else replace(search, query=search.query[:LONGEST_QUERY])


def _result_set(call: Call, outcome: Outcome, search: LastSearch) -> Command:
    assert outcome.value is not None
    policy = call.tool.tool.cache or CachePolicy(0, 0)
    key = keys.result_set(str(outcome.value["result_set"]))
    seconds = RESULT_SET_SECONDS + policy.stale_seconds
    return Command(("SET", key, " ".join(search.title_ids) or "-", "EX", seconds))


def _entry(call: Call, outcome: Outcome) -> HistoryEntry:
    summary = outcome.failure.name if outcome.failure else call.tool.tool.summary(outcome.value or {})
    return HistoryEntry(
        tool=call.name,
        arguments=remembered(call),
        summary=summary,
        succeeded=outcome.succeeded,
        latency_ms=round(call.elapsed_ms()),
        cache_hit=outcome.source == CACHE,
        tokens=len((outcome.text or "").encode()) // BYTES_A_TOKEN,
        at=round(time.time(), 3),
    )
