"""Where an answer comes from: the tool, the rungs of the fallback ladder, and the join with price and stock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from server.call import CACHE, FALLBACK, LIVE, STALE, Call, Handler, Json, Outcome
from session.resilience.clocks import WallClock
from session.resilience.deadline import Deadline
from tools.contract import ToolContext
from tools.store.failures import BackendFailure, Failure, TimedOut
from tools.store.stock.reader import StockReading
from tools.store.store import Store

Work = Callable[[ToolContext, Json], Awaitable[Json]]


async def work(call: Call, name: str, run: Work, context: ToolContext, given: Json) -> Json:
    """Runs it, noted by this `name` for whoever watches the call. Raises what it raises."""
    if call.span is None:
        return await run(context, given)
    with call.span.begin("work", name) as span:
        context.deadline = context.deadline.in_span(span)
        return await run(context, given)


@dataclass(frozen=True, slots=True)
class Standby:
    """`name` is told as the fallback; `as_of` is how old what it knows is, in seconds since the epoch."""

    name: str
    store: Store
    as_of: float


StandbyLookup = Callable[[str, Store], Standby | None]
"""Returns the second store for a tool, by its name, and its usual store; None where there is none now."""


def no_standby(tool: str, store: Store) -> Standby | None:
    return None


class ToolRunner:
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
        shared={key: begun.shared[key] for key in call.tool.tool.reads if key in begun.shared} if begun else {},
        session=call.conversation,
    )


LEAST_SECONDS = 0.03
"""What the join may take when the rungs below have used up the call's own time: it comes out of the ladder's share. In a
turn that is used up it starts nothing, and finds what was read lately."""


class CompleteStage:
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
        titles = call.tool.tool.stock_of(call.arguments) if call.tool.tool.stock_of else ()
        if not titles or call.deadline is None or not _may_start(call):
            yield None
            return
        reading = self._store.stock.read_what_is_there(titles, call.deadline.in_span(call.span))
        task = asyncio.create_task(reading, name="stock of a title that is being read")
        try:
            yield task
        finally:
            if not task.done():
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def _may_start(call: Call) -> bool:
    return call.turn is None or call.turn.may_start()


RUNG_SECONDS = 0.025
"""What a fallback may take: it works from memory, within the share that every call keeps back for it."""
SECOND_SECONDS = 0.15
"""What is kept back of a call's time for a second store, where there is one: a search's worth on a busy machine, at most a
third of it."""


class FallbackStage:
    """Catches what a backend did not deliver, and answers from the highest rung below that holds."""

    def __init__(self, store: Store, wall: WallClock, second: StandbyLookup = no_standby) -> None:
        self._store = store
        self._wall = wall
        self._second = second

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        try:
            return await self._in_time(call, inner)
        except BackendFailure as failure:
            call.descended = True
            return self._stale(call) or await self._over_second(call) or await self._fallback(call, failure)

    async def _in_time(self, call: Call, inner: Handler) -> Outcome:
        """Early enough for the second store, where that would be asked."""
        if self._stale(call) is not None or self._second(call.name, self._store) is None:
            return await inner(call)
        assert call.deadline is not None
        left = call.deadline.remaining()
        try:
            async with asyncio.timeout(left - min(SECOND_SECONDS, left / 3)):
                return await inner(call)
        except TimeoutError:
            raise TimedOut("This took too long and was stopped.", retry_after_ms=100) from None

    def _stale(self, call: Call) -> Outcome | None:
        policy = call.tool.tool.cache
        cached = call.begun.cached if call.begun else None
        if policy is None or cached is None or cached.age_seconds(self._wall()) > policy.stale_seconds:
            return None
        return Outcome(cached.value, source=STALE, as_of=cached.made_at)

    async def _over_second(self, call: Call) -> Outcome | None:
        """The tool's own answer over the second store; None where there is none, or it does not deliver either."""
        second = self._second(call.name, self._store)
        return await self._run_over(second, call) if second is not None else None

    async def _run_over(self, second: Standby, call: Call) -> Outcome | None:
        assert call.deadline is not None
        rung = call.late_end(RUNG_SECONDS)
        context = context_of(call, second.store, call.deadline if call.deadline.at > rung.at else rung)
        try:
            value = await work(call, second.name, call.tool.tool.handler, context, call.arguments)
        except Failure:  # a title that it does not know among them: it may be older than that
            return None
        return Outcome(value, source=FALLBACK, fallback=second.name, as_of=second.as_of, content=tuple(context.content))

    async def _fallback(self, call: Call, failure: BackendFailure) -> Outcome:
        fallback = call.tool.tool.fallback
        if fallback is None:
            raise failure
        context = context_of(call, self._store, call.late_end(RUNG_SECONDS))
        try:
            value = await work(call, fallback.name, fallback.handler, context, call.arguments)
        except BackendFailure:
            raise failure from None  # the first failure says more than the last rung's
        return Outcome(value, source=FALLBACK, fallback=fallback.name, content=tuple(context.content))
