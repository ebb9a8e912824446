"""What is never cached with a result (price and stock, pictures), joined onto whatever rung of the ladder answered."""

from __future__ import annotations

from dataclasses import replace

from server.call import Call, Handler, Outcome
from server.stages.shared.run_tool import context_of
from session.resilience.deadline import Deadline
from tools.store.store import Store

LEAST_SECONDS = 0.03
"""What the join may take when the rungs below have used up the call's own time: it comes out of the ladder's share. In a
turn that is used up it starts nothing, and finds what was read lately."""


class Complete:
    """Asks the tool itself to complete what it, the cache or the ladder has answered."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        outcome = await inner(call)
        complete = call.tool.tool.complete
        if complete is None or outcome.value is None:
            return outcome
        assert call.deadline is not None
        may_start = call.turn is None or call.turn.may_start()
        least = call.late_end(LEAST_SECONDS) if may_start else Deadline.after(0, call.clock)
        deadline = call.deadline if call.deadline.at > least.at else least
        context = context_of(call, self._store, deadline)
        value = await complete(context, outcome.value)
        return replace(outcome, value=value, content=(*outcome.content, *context.content))
