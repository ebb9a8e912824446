"""Work under way in this process, by what it was asked for: concurrent equal calls share one flight.

A flight has its own task and deadline: the caller that began it may leave while others still wait, and when the last has
left it is cancelled.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from server.call import Call, Handler, Outcome
from session.resilience.deadline import Deadline
from session.resilience.timeline import Interval
from tools.store.failures import TimedOut


@dataclass(slots=True)
class Flight:
    """`waiting` counts those who want its outcome; `degraded` is what the work did without; `kept` tells whether one of them
    has seen to it that the outcome is cached; `interval` is where it is noted, if the call that began it is watched."""

    task: asyncio.Task[Outcome]
    degraded: set[str]
    interval: Interval | None = None
    waiting: int = 0
    kept: bool = False


class Flights(dict[str, Flight]):
    """By key, each until it has landed."""

    async def board(self, key: str, call: Call, inner: Handler) -> tuple[Outcome, Flight]:
        """The outcome of the flight of this key, which departs if there is none, and the flight. Raises what it raises, and
        `TimedOut` when the call's own time is over first."""
        flight = self.get(key)
        if flight is None or flight.task.done() or flight.task.cancelling():
            flight = self[key] = self._depart(key, call, inner)
        elif call.interval is not None:
            with call.interval.begin("work", "flight", joined=_name(flight)):
                return await _outcome(call, flight), flight
        return await _outcome(call, flight), flight

    def _depart(self, key: str, call: Call, inner: Handler) -> Flight:
        own = detached(call)
        task = asyncio.create_task(inner(own), name=f"flight {call.name}")
        flight = Flight(task, own.degraded, own.interval)
        task.add_done_callback(lambda _: self._land(key, flight))
        return flight

    def _land(self, key: str, flight: Flight) -> None:
        if self.get(key) is flight:
            del self[key]
        if not flight.task.cancelled():
            flight.task.exception()  # seen, also when the last who waited has just left


def detached(call: Call) -> Call:
    """The work of a call, for whoever wants its outcome: with the tool's own time, and nothing of the caller's session."""
    return replace(
        call, degraded=set(), pending_writes=[], flight=Deadline.after(call.tool.tool.timeout_ms / 1000, call.clock)
    )


def _name(flight: Flight) -> str:
    """Returns the trace that its work is told in; "" where there is none."""
    return (flight.interval and flight.interval.traceparent) or ""


async def _outcome(call: Call, flight: Flight) -> Outcome:
    assert call.deadline is not None
    flight.waiting += 1
    try:
        done, _ = await asyncio.wait({flight.task}, timeout=call.deadline.remaining())
    finally:
        flight.waiting -= 1
        if not flight.waiting and not flight.task.done():
            flight.task.cancel()
    if not done or flight.task.cancelled():
        raise TimedOut("This took too long and was stopped.")
    return flight.task.result()
