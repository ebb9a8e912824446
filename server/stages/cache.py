"""Fresh results from the cache, and one flight for equal calls in this process.

A flight has its own task and deadline: the caller that began it may leave while others still wait, and when the last
has left it is cancelled. A result a little too old is given at once, labelled stale, while a flight of its own fetches a
new one (stale-while-revalidate, RFC 5861).
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from server.call import CACHE, LIVE, STALE, Call, Handler, Outcome
from server.stages.session import cache_key
from session.deadline import Deadline
from session.keyvalue import Command, Step
from session.memory import SessionMemory
from session.result_cache import CachedResult, digest, encode
from tools.failures import BudgetExhausted, Failure, TimedOut

MOST_REFRESHES = 8
"""Background work yields to live calls: beyond this many, stale results are served without being refreshed."""
JITTER = 0.1


@dataclass(slots=True)
class Flight:
    """Work under way. `waiting` counts those who want its outcome; `degraded` is what the work did without; `kept` tells
    whether one of them has seen to it that the outcome is cached."""

    task: asyncio.Task[Outcome]
    degraded: set[str]
    waiting: int = 0
    kept: bool = False


@dataclass(slots=True)
class Cache:
    memory: SessionMemory
    enabled: bool
    draw: Callable[[], float] = random.random
    _flights: dict[str, Flight] = field(default_factory=dict)
    _refreshes: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        policy = call.tool.tool.cache
        cached = call.begun.cached if call.begun else None
        if policy is not None and cached is not None and self.enabled:
            age = cached.age_seconds(time.time())
            if age <= policy.fresh_seconds:
                return _given(cached, CACHE)
            if age <= 2 * policy.fresh_seconds and call.turn is not None and not call.turn.exhausted():
                self._refresh(call, inner)
                return _given(cached, STALE)
        if call.turn is not None and call.turn.exhausted():
            # Asked before there is a flight: others may still have time for one.
            raise BudgetExhausted("The time for this turn is used up. Answer with what you have.")
        return await self._fly(call, inner)

    async def aclose(self) -> None:
        """Cancels whatever is still under way."""
        tasks = [flight.task for flight in self._flights.values()] + list(self._refreshes.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _fly(self, call: Call, inner: Handler) -> Outcome:
        key = _flight_key(call)
        flight = self._flights.get(key)
        if flight is None or flight.task.done() or flight.task.cancelling():
            flight = self._flights[key] = self._depart(call, inner, key)
        outcome = await self._wait(call, flight)
        call.degraded |= flight.degraded
        if not flight.kept and (step := self._keep(call, outcome, flight.degraded)):
            flight.kept = True
            call.leaves.append(step)
        return outcome

    def _depart(self, call: Call, inner: Handler, key: str) -> Flight:
        degraded: set[str] = set()
        own = replace(call, degraded=degraded, leaves=[], flight=Deadline.after(call.tool.tool.timeout_ms / 1000))
        task = asyncio.create_task(inner(own), name=f"flight {call.name}")
        flight = Flight(task, degraded)
        task.add_done_callback(lambda _: self._land(key, flight))
        return flight

    def _land(self, key: str, flight: Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        if not flight.task.cancelled():
            flight.task.exception()  # seen, also when the last who waited has just left

    async def _wait(self, call: Call, flight: Flight) -> Outcome:
        assert call.deadline is not None
        flight.waiting += 1
        try:
            done, _ = await asyncio.wait({flight.task}, timeout=call.deadline.remaining())
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                flight.task.cancel()
        if not done or flight.task.cancelled():
            raise TimedOut("This took too long and was stopped.", retry_after_ms=100)
        return flight.task.result()

    def _keep(self, call: Call, outcome: Outcome, degraded: set[str]) -> Step | None:
        """The write of a live, whole result; its life is jittered so that results made together do not expire together."""
        policy, key = call.tool.tool.cache, cache_key(call)
        if policy is None or key is None or not self.enabled or outcome.source != LIVE or degraded:
            return None
        stored = encode(outcome.value or {}, time.time())
        seconds = round(policy.stale_seconds * (1 - JITTER * self.draw()))
        return Command(("SET", key, stored, "EX", seconds)) if stored else None

    def _refresh(self, call: Call, inner: Handler) -> None:
        key = _flight_key(call)
        if key in self._flights or key in self._refreshes or len(self._refreshes) >= MOST_REFRESHES:
            return
        own = replace(call, degraded=set(), leaves=[], flight=Deadline.after(call.tool.tool.timeout_ms / 1000))
        task = asyncio.create_task(self._refreshed(own, inner), name=f"refresh {call.name}")
        self._refreshes[key] = task
        task.add_done_callback(lambda _: self._refreshes.pop(key, None))

    async def _refreshed(self, call: Call, inner: Handler) -> None:
        """Writes the cache and nothing of the session. A failure leaves the stale result as it is."""
        try:
            outcome = await inner(call)
        except Failure:
            return
        if step := self._keep(call, outcome, call.degraded):
            await self.memory.end([step])


def _given(cached: CachedResult, source: str) -> Outcome:
    return Outcome(cached.value, source=source, as_of=cached.made_at)


def _flight_key(call: Call) -> str:
    """Equal calls whose answers are equal. Whoever's session or orders could change the answer flies alone or apart."""
    tool, begun = call.tool.tool, call.begun
    shared = tool.cache is not None and not tool.cache.per_user
    owner = "" if shared else json.dumps([call.principal.user, call.session])
    ids = (*begun.last_ids, "|", *(begun.result_set or ())) if begun and not shared else ()
    return digest(call.name, call.arguments, owner, ids)
