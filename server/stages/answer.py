from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from server.call import CACHE, FALLBACK, LIVE, STALE, Call, Handler, Json, Outcome
from session.resilience.clocks import WallClock
from session.resilience.deadline import Deadline
from session.resilience.tasks import end_task
from tools.contract import ToolContext
from tools.store.failures import BackendFailure, Failure, TimedOut
from tools.store.stock import StockReading
from tools.store.store import Store

Work = Callable[[ToolContext, Json], Awaitable[Json]]


async def run_in_span(call: Call, name: str, run: Work, context: ToolContext, given: Json | None = None) -> Json:
    """Returns the result of `run`, run inside a span called `name` if the call records spans. `given` defaults to the
    validated arguments, with amounts converted from the shop's currency to the internal one."""
    if given is None:
        given = context.store.currency.arguments(call.arguments)
    if call.span is None:
        return await run(context, given)
    with call.span.begin("work", name) as span:
        context.deadline = context.deadline.in_span(span)
        return await run(context, given)


def context_of(call: Call, store: Store, deadline: Deadline) -> ToolContext:
    begun = call.begin_result
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
        turn_over=call.turn is not None and call.turn.exhausted,
    )


class ToolRunner:
    def __init__(self, store: Store, wall: WallClock) -> None:
        self._store = store
        self._wall = wall

    async def __call__(self, call: Call) -> Outcome:
        context = context_of(call, self._store, call.flight_deadline or call.required_deadline)
        value = await run_in_span(call, call.name, call.tool.tool.handler, context)
        source = CACHE if context.served_from_cache else LIVE
        as_of = round(self._wall(), 3)  # rounded to ms as stored records are, so that a replay states the same time
        return Outcome(value, source=source, as_of=as_of, content=tuple(context.content))


class CompleteStage:
    """Adds price and stock to a result with the tool's `complete` function, whatever the result's source. The function may
    use the rest of the call's time, or 30 ms (within `Call.fallback_deadline`) if less is left. If the arguments name
    titles, their stock is read while the tool runs."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        complete = call.tool.tool.complete
        if complete is None:
            return await inner(call)
        stock = self._start_reading_stock(call)
        try:
            outcome = await inner(call)
            if outcome.value is None:
                return outcome
            # In an exhausted turn `complete` starts no reads and uses recently read data only.
            least = call.fallback_deadline(0.03) if _may_start(call) else Deadline.after(0, call.clock)
            due = call.required_deadline
            context = context_of(call, self._store, due if due.at > least.at else least)
            context.stock = stock
            value = await run_in_span(call, "complete", complete, context, outcome.value)
            return replace(outcome, value=value, content=(*outcome.content, *context.content))
        finally:
            await end_task(stock)

    def _start_reading_stock(self, call: Call) -> asyncio.Task[StockReading] | None:
        titles = call.tool.tool.stock_of(call.arguments) if call.tool.tool.stock_of else ()
        if not titles or call.deadline is None or not _may_start(call):
            return None
        reading = self._store.stock.read_available(titles, call.deadline.in_span(call.span))
        return asyncio.create_task(reading, name="stock of a title that is being read")


def _may_start(call: Call) -> bool:
    return call.turn is None or call.turn.may_start()


@dataclass(frozen=True, slots=True)
class Standby:
    """A store whose catalogue is a copy; its other ports are the usual ones. `name` is reported as the answer's fallback;
    `as_of` is when the copy was made, in seconds since the epoch."""

    name: str
    store: Store
    as_of: float


StandbyLookup = Callable[[str, Store], Standby | None]
"""Maps a tool's name and the usual store to the standby that can replace the store now, or to None."""


def no_standby(tool: str, store: Store) -> Standby | None:
    return None


RUNG_SECONDS = 0.025
"""Maximum seconds of a fallback, which works from memory in the time that each call reserves (`session.turn.LADDER_MS`)."""
STANDBY_SECONDS = 0.15
"""Seconds of a call's time reserved for the standby, at most a third of the rest: a search on a busy machine takes less."""


class FallbackStage:
    """Answers after a `BackendFailure`, such as `BudgetExhausted`, with the first available of: a stale cached result, the
    standby store, and the tool's own fallback. Raises the failure if none is available."""

    def __init__(self, store: Store, wall: WallClock, standby: StandbyLookup = no_standby) -> None:
        self._store, self._wall, self._standby = store, wall, standby

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        try:
            return await self._in_time(call, inner)
        except BackendFailure as failure:
            call.fallback_tried = True
            return self._stale(call) or await self._over_standby(call) or await self._fallback(call, failure)

    async def _in_time(self, call: Call, inner: Handler) -> Outcome:
        """Runs `inner`. If the standby is the next fallback, raises `TimedOut` early enough to query the standby."""
        if self._stale(call) is not None or self._standby(call.name, self._store) is None:
            return await inner(call)
        left = call.required_deadline.remaining()
        try:
            async with asyncio.timeout(left - min(STANDBY_SECONDS, left / 3)):
                return await inner(call)
        except TimeoutError:
            raise TimedOut("This took too long and was stopped.", retry_after_ms=100) from None

    def _stale(self, call: Call) -> Outcome | None:
        policy = call.tool.tool.cache
        cached = call.begin_result.cached if call.begin_result else None
        if policy is None or cached is None or cached.age_seconds(self._wall()) > policy.stale_seconds:
            return None
        return Outcome(cached.value, source=STALE, as_of=cached.made_at)

    async def _over_standby(self, call: Call) -> Outcome | None:
        standby = self._standby(call.name, self._store)
        if standby is None:
            return None
        rung = call.fallback_deadline(RUNG_SECONDS)
        context = context_of(call, standby.store, call.required_deadline if call.required_deadline.at > rung.at else rung)
        try:
            value = await run_in_span(call, standby.name, call.tool.tool.handler, context)
        except Failure:  # NOT_FOUND as well: the standby may be older than the title
            return None
        return Outcome(value, source=FALLBACK, fallback=standby.name, as_of=standby.as_of, content=tuple(context.content))

    async def _fallback(self, call: Call, failure: BackendFailure) -> Outcome:
        fallback = call.tool.tool.fallback
        if fallback is None:
            raise failure
        context = context_of(call, self._store, call.fallback_deadline(RUNG_SECONDS))
        try:
            value = await run_in_span(call, fallback.name, fallback.handler, context)
        except BackendFailure:
            raise failure from None  # the backend's failure says more than the fallback's
        return Outcome(value, source=FALLBACK, fallback=fallback.name, content=tuple(context.content))
