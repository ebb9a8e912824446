"""The end of the way: runs the tool's own handler."""

from __future__ import annotations

from server.call import CACHE, LIVE, Call, Outcome
from server.stages.shared.work import work
from session.resilience.clocks import WallClock
from session.resilience.deadline import Deadline
from tools.contract import ToolContext
from tools.store.store import Store


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
