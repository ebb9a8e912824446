"""Fresh results from the cache, and one flight for equal calls in this process.

A result a little too old is given at once, labelled stale, while a flight of its own fetches a new one.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from server.call import CACHE, LIVE, STALE, Call, Handler, Outcome
from server.stages.shared.flights import Flights
from server.stages.shared.refreshes import Refreshes
from server.stages.shared.result_keys import cache_key, flight_key
from session.memory import SessionMemory
from session.redis.keyvalue import Command, Step
from session.resilience.clocks import WallClock
from session.result_cache import CachedResult, encode
from tools.store.failures import BudgetExhausted

JITTER = 0.1


@dataclass(slots=True)
class Cache:
    """When it is not `enabled`, equal calls still share their flight: what they get is live."""

    memory: SessionMemory
    enabled: bool
    wall: WallClock
    draw: Callable[[], float] = random.random
    flights: Flights = field(default_factory=Flights)
    refreshes: Refreshes = field(init=False)

    def __post_init__(self) -> None:
        self.refreshes = Refreshes(self.memory, self._kept)

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        policy = call.tool.tool.cache
        cached = call.begun.cached if call.begun else None
        exhausted = call.turn is not None and call.turn.exhausted
        if policy is not None and cached is not None and self.enabled:
            age = cached.age_seconds(self.wall())
            if age <= policy.fresh_seconds:
                return _given(cached, CACHE)
            if age <= 2 * policy.fresh_seconds and call.turn is not None and not exhausted:
                self._refresh(call, inner)
                return _given(cached, STALE)
        if exhausted:
            # Asked before there is a flight: others may still have time for one.
            raise BudgetExhausted("The time for this turn is used up. Answer with what you have.")
        outcome, flight = await self.flights.board(flight_key(call), call, inner)
        call.degraded |= flight.degraded
        if not flight.degraded and not flight.kept and (step := self._kept(call, outcome)):
            flight.kept = True
            call.leaves.append(step)
        return outcome

    async def aclose(self) -> None:
        """Cancels whatever is still under way."""
        tasks = [*(flight.task for flight in self.flights.values()), *self.refreshes.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _refresh(self, call: Call, inner: Handler) -> None:
        key = flight_key(call)
        if key not in self.flights:
            self.refreshes.start(key, call, inner)

    def _kept(self, call: Call, outcome: Outcome) -> Step | None:
        """The write of a live result. Its life is jittered, so that results made together do not expire together."""
        policy, key = call.tool.tool.cache, cache_key(call)
        if policy is None or key is None or not self.enabled or outcome.source != LIVE:
            return None
        stored = encode(outcome.value or {}, self.wall())
        seconds = round(policy.stale_seconds * (1 - JITTER * self.draw()))
        return Command(("SET", key, stored, "EX", seconds)) if stored else None


def _given(cached: CachedResult, source: str) -> Outcome:
    return Outcome(cached.value, source=source, as_of=cached.made_at)
