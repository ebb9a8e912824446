"""What is never cached with a result (price and stock, pictures), joined onto whatever rung of the ladder answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from server.call import Call, Handler, Outcome
from server.stages.run_tool import context_of, work
from session.resilience.deadline import Deadline
from tools.store.stock.reader import StockReading
from tools.store.store import Store

LEAST_SECONDS = 0.03
"""What the join may take when the rungs below have used up the call's own time: it comes out of the ladder's share. In a
turn that is used up it starts nothing, and finds what was read lately."""


class Complete:
    """Asks the tool itself to complete what it, the cache or the ladder has answered. Whose stock that needs the arguments
    often say: then it is read while the tool runs, not after it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        if call.tool.tool.complete is None:
            return await inner(call)
        async with self._stock_of(call) as stock:
            outcome = await inner(call)
            return outcome if outcome.value is None else await self._completed(call, outcome, stock)

    async def _completed(self, call: Call, outcome: Outcome, stock: asyncio.Task[StockReading] | None) -> Outcome:
        complete = call.tool.tool.complete
        assert call.deadline is not None
        assert complete is not None
        assert outcome.value is not None
        least = call.late_end(LEAST_SECONDS) if _may_start(call) else Deadline.after(0, call.clock)
        deadline = call.deadline if call.deadline.at > least.at else least
        context = context_of(call, self._store, deadline)
        context.stock = stock
        value = await work(call, "complete", complete, context, outcome.value)
        return replace(outcome, value=value, content=(*outcome.content, *context.content))

    @asynccontextmanager
    async def _stock_of(self, call: Call) -> AsyncIterator[asyncio.Task[StockReading] | None]:
        """The read, under way for as long as the block; None where the arguments name no title, or it is too late."""
        titles = call.tool.tool.stock_of
        if titles is None or call.deadline is None or not _may_start(call):
            yield None
            return
        reading = self._store.stock.read_what_is_there(titles(call.arguments), call.deadline.inside(call.interval))
        task = asyncio.create_task(reading, name="stock of a title that is being read")
        try:
            yield task
        finally:
            if not task.done():
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def _may_start(call: Call) -> bool:
    return call.turn is None or call.turn.may_start()
