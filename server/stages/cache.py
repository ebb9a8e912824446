"""Fresh results from the cache, and one flight for equal calls in this process.

A result a little too old is given at once, labelled stale, while a flight of its own fetches a new one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from server.call import CACHE, STALE, Call, Handler, Outcome
from server.stages.shared.flights import Flights
from server.stages.shared.refreshes import Refreshes
from server.stages.shared.result_keys import flight_key
from server.stages.shared.result_writes import ResultWrites
from session.memory import SessionMemory
from session.resilience.clocks import WallClock
from session.result_cache import CachedResult
from tools.store.failures import BudgetExhausted, NotFound


@dataclass(slots=True)
class Cache:
    """When it is not `enabled`, equal calls still share their flight: what they get is live."""

    memory: SessionMemory
    enabled: bool
    wall: WallClock
    flights: Flights = field(default_factory=Flights)
    writes: ResultWrites = field(init=False)
    refreshes: Refreshes = field(init=False)

    def __post_init__(self) -> None:
        self.writes = ResultWrites(self.enabled)
        self.refreshes = Refreshes(self.memory, self.writes)

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
            raise BudgetExhausted("The time for this turn is used up. Answer with what you have.", details={"what": "time"})
        try:
            outcome, flight = await self.flights.board(flight_key(call), call, inner)
        except NotFound:
            if cached is not None:
                call.pending_writes += self.writes.end_of(call)
            raise
        call.degraded |= flight.degraded
        if not flight.degraded and not flight.kept and (step := self.writes.of(call, outcome)):
            flight.kept = True
            call.pending_writes.append(step)
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


def _given(cached: CachedResult, source: str) -> Outcome:
    return Outcome(cached.value, source=source, as_of=cached.made_at)
