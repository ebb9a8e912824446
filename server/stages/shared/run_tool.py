"""The end of the way: runs the tool's own handler."""

from __future__ import annotations

from server.call import CACHE, LIVE, Call, Outcome
from session.resilience.clocks import WallClock
from session.resilience.deadline import Deadline
from tools.contract import Store, ToolContext


class RunTool:
    """Stands where the stages end."""

    def __init__(self, store: Store, wall: WallClock) -> None:
        self._store = store
        self._wall = wall

    async def __call__(self, call: Call) -> Outcome:
        deadline = call.flight or call.deadline
        assert deadline is not None
        context = context_of(call, self._store, deadline)
        value = await call.tool.tool.handler(context, call.arguments)
        return Outcome(value, source=CACHE if context.served_from_cache else LIVE, as_of=self._wall())


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
    )
