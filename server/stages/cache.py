"""The result cache, with its keys, single flight and stale-while-revalidate (RFC 5861).

Callers with equal arguments share a cache entry, and it outlives their sessions. A result may quote what a caller wrote, so
it is encrypted with a secret that only a call with equal arguments can derive."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from server.call import CACHE, LIVE, STALE, Call, Handler, Outcome
from session import keys
from session.begin import CacheKey, digest, encode
from session.memory import SessionMemory
from session.redis.keyvalue import Command, Step
from session.resilience.clocks import WallClock
from session.resilience.deadline import Deadline, Span
from session.resilience.tasks import end_task, start_task
from tools.contract import SILENT
from tools.store.failures import BudgetExhausted, Failure, NotFound, TimedOut


def cache_key(call: Call) -> CacheKey | None:
    """Returns the key of a call's cache entry; None if the result is not cached. The user is part of the key only if the
    tool's results depend on the user."""
    policy = call.tool.tool.cache
    if policy is None or call.tool.tool.is_about_last(call.arguments):
        return None
    owner = keys.user_hash(call.customer) if policy.per_user else ""
    obeyed = (call.preferences_hash,) if call.preferences_hash else ()
    return CacheKey.derive(call.name, call.tool.form, call.arguments, owner, *obeyed)


def flight_key(call: Call) -> str:
    """Returns the key by which equal calls share a single flight. Unless the tool's result is public, the key includes user,
    session, and the session state that the call may refer to. Each call of a tool that asks its client has its own key."""
    tool, begun = call.tool.tool, call.begin_result
    public = tool.cache is not None and not tool.cache.per_user and not tool.is_about_last(call.arguments)
    owner = "" if public else json.dumps([call.customer, call.session])
    refers: tuple[object, ...] = (call.call_id,) if tool.asks else ()
    if begun and not public:
        last = (begun.last.by, begun.last.query, begun.last_ids) if begun.last else ()
        refers += (last, begun.result_set or (), dict(begun.shared))
    obeyed = (call.preferences_hash,) if call.preferences_hash else ()
    return digest(call.name, call.tool.form, call.arguments, owner, refers, *obeyed)


@dataclass(slots=True)
class Flight:
    """A task that equal calls share (single flight). `waiting` counts its callers; `degraded` names the sources that its
    outcome lacks; `kept` is True once a caller has queued the cache write; `span` is the first caller's span, if any."""

    task: asyncio.Task[Outcome]
    degraded: set[str]
    span: Span | None = None
    waiting: int = 0
    kept: bool = False


def detach_call(call: Call) -> Call:
    """Returns a copy of the call for work that may outlive it: with a `flight_deadline` after the tool's full timeout, and
    with `degraded` and `pending_writes` of its own."""
    deadline = Deadline.after(call.tool.tool.timeout_ms / 1000, call.clock)
    return replace(call, degraded=set(), pending_writes=[], flight_deadline=deadline)


async def _wait_for(call: Call, flight: Flight) -> Outcome:
    flight.waiting += 1
    try:
        done, _ = await asyncio.wait({flight.task}, timeout=call.required_deadline.remaining())
    finally:
        flight.waiting -= 1
        if not flight.waiting and not flight.task.done():
            flight.task.cancel()
    if not done or flight.task.cancelled():
        raise TimedOut("This took too long and was stopped.")
    return flight.task.result()


MOST_REFRESHES = 8
"""Maximum concurrent refreshes. Further stale results are served without a refresh, since live calls go first."""


@dataclass(slots=True)
class CacheStage:
    """Answers from a cached result while it is fresh. Otherwise raises `BudgetExhausted` in an exhausted turn; in others
    answers from a result up to twice as old and refreshes it in the background, or else from a single flight. If `enabled`
    is False, caches nothing. `refreshes` has the background tasks by flight key; they run with their call's identity and
    write only to the cache."""

    memory: SessionMemory
    enabled: bool
    wall: WallClock
    draw: Callable[[], float] = random.random
    flights: dict[str, Flight] = field(default_factory=dict)
    refreshes: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        policy = call.tool.tool.cache
        cached = call.begin_result.cached if call.begin_result else None
        exhausted = call.turn is not None and call.turn.exhausted
        if policy is not None and cached is not None and self.enabled:
            age = cached.age_seconds(self.wall())
            if age <= policy.fresh_seconds:
                return Outcome(cached.value, source=CACHE, as_of=cached.made_at)
            if age <= 2 * policy.fresh_seconds and call.turn is not None and not exhausted:
                if (key := flight_key(call)) not in self.flights:
                    self.start_refresh(key, call, inner)
                return Outcome(cached.value, source=STALE, as_of=cached.made_at)
        if exhausted:  # checked before joining a flight, whose other calls may have time
            raise BudgetExhausted("The time for this turn is used up. Answer with what you have.", details={"what": "time"})
        try:
            outcome, flight = await self._join_or_start(flight_key(call), call, inner)
        except NotFound:
            if cached is not None:
                call.pending_writes += self._plan_removal(call)
            raise
        call.degraded |= flight.degraded
        if not flight.degraded and not flight.kept and (step := self._plan_write(call, outcome)):
            flight.kept = True
            call.pending_writes.append(step)
        return outcome

    async def aclose(self) -> None:
        tasks = [*(flight.task for flight in self.flights.values()), *self.refreshes.values()]
        await end_task(*tasks)

    async def _join_or_start(self, key: str, call: Call, inner: Handler) -> tuple[Outcome, Flight]:
        """Waits for the flight under `key`, and starts it if there is none. Returns the outcome and the flight. Raises the
        flight's errors, and `TimedOut` at the call's own deadline."""
        flight = self.flights.get(key)
        if flight is None or flight.task.done() or flight.task.cancelling():
            flight = self.flights[key] = self._start_flight(key, call, inner)
        elif call.span is not None:
            with call.span.begin("work", "flight", joined=(flight.span and flight.span.traceparent) or ""):
                return await _wait_for(call, flight), flight
        return await _wait_for(call, flight), flight

    def _start_flight(self, key: str, call: Call, inner: Handler) -> Flight:
        own = detach_call(call)
        flight = Flight(asyncio.create_task(inner(own), name=f"flight {call.name}"), own.degraded, own.span)

        def land(task: asyncio.Task[Outcome]) -> None:
            if self.flights.get(key) is flight:
                del self.flights[key]
            if not task.cancelled():
                task.exception()  # marks the exception as retrieved: the last waiter may have left

        flight.task.add_done_callback(land)
        return flight

    def start_refresh(self, key: str, call: Call, inner: Handler) -> None:
        if key in self.refreshes or len(self.refreshes) >= MOST_REFRESHES:
            return
        own = replace(detach_call(call), client=SILENT, span=None)
        task = self.refreshes[key] = start_task(self._refresh(own, inner), f"refresh {call.name}")
        task.add_done_callback(lambda _: self.refreshes.pop(key, None))

    async def _refresh(self, call: Call, inner: Handler) -> None:
        try:
            outcome = await inner(call)
        except NotFound:
            await self.memory.end(self._plan_removal(call))
        except Failure:
            return  # the stale result stays
        else:
            if not call.degraded and (step := self._plan_write(call, outcome)):
                await self.memory.end([step])

    def _plan_write(self, call: Call, outcome: Outcome) -> Step | None:
        """Returns the command that stores a result; None for a failure, a result that is not live or has content blocks, and
        a tool without a cache. The expiry is jittered, so that results stored together do not expire together."""
        policy, key = call.tool.tool.cache, cache_key(call)
        if policy is None or key is None or not self.enabled or outcome.source != LIVE or outcome.content:
            return None
        if outcome.value is None or outcome.as_of is None:
            return None
        stored = encode(outcome.value, outcome.as_of, key)
        seconds = round(policy.stale_seconds * (1 - 0.1 * self.draw()))
        return Command(("SET", key.name, stored, "EX", seconds)) if stored else None

    def _plan_removal(self, call: Call) -> list[Step]:
        key = cache_key(call)
        return [Command(("UNLINK", key.name))] if key is not None else []
