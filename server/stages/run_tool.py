"""The end of the way: runs the tool's own handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from server.call import CACHE, LIVE, Call, Json, Outcome
from session.resilience.clocks import WallClock
from session.resilience.deadline import Deadline
from tools.contract import ToolContext
from tools.store.store import Store

Work = Callable[[ToolContext, Json], Awaitable[Json]]


async def work(call: Call, name: str, run: Work, context: ToolContext, given: Json) -> Json:
    """Runs it, noted by this `name` for whoever watches the call. Raises what it raises."""
    if call.interval is None:
        return await run(context, given)
    with call.interval.begin("work", name) as interval:
        context.deadline = context.deadline.inside(interval)
        return await run(context, given)


@dataclass(frozen=True, slots=True)
class SecondStore:
    """`name` is told as the fallback; `as_of` is how old what it knows is, in seconds since the epoch."""

    name: str
    store: Store
    as_of: float


Second = Callable[[str, Store], SecondStore | None]
"""Returns the second store for a tool, by its name, and its usual store; None where there is none now."""


def no_second(tool: str, store: Store) -> SecondStore | None:
    return None


class RunTool:
    """Stands where the stages end."""

    def __init__(self, store: Store, wall: WallClock) -> None:
        self._store = store
        self._wall = wall

    async def __call__(self, call: Call) -> Outcome:
        deadline = call.flight or call.deadline
        assert deadline is not None
        context = context_of(call, self._store, deadline)
        value = await work(call, call.name, call.tool.tool.handler, context, call.arguments)
        source = CACHE if context.served_from_cache else LIVE
        as_of = round(self._wall(), 3)  # as exact as records keep it: who gets it again hears the same time
        return Outcome(value, source=source, as_of=as_of, content=tuple(context.content))


def context_of(call: Call, store: Store, deadline: Deadline) -> ToolContext:
    """Gives a tool, its fallback or its completion what it may use until `deadline`."""
    begun = call.begun
    return ToolContext(
        store=store,
        user=call.customer,
        deadline=deadline,
        degraded=call.degraded,
        last=begun.last if begun else None,
        result_set=begun.result_set if begun else None,
        preferences=call.preferences,
        client=call.client,
        may_use=call.may_use,
        shared=begun.shared if begun else {},
        session=call.conversation,
    )
