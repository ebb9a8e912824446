"""The ladder below a failed backend: the last result, labelled stale, then a second store, then the tool's own fallback,
then the failure."""

from __future__ import annotations

import asyncio

from server.call import FALLBACK, STALE, Call, Handler, Outcome
from server.stages.run_tool import Second, SecondStore, context_of, no_second, work
from session.resilience.clocks import WallClock
from tools.store.failures import BackendFailure, Failure, TimedOut
from tools.store.store import Store

RUNG_SECONDS = 0.025
"""What a fallback may take: it works from memory, within the share that every call keeps back for it."""
SECOND_SECONDS = 0.15
"""What is kept back of a call's time for a second store, where there is one: a search's worth on a busy machine, at most a
third of it."""


class Ladder:
    """Catches what a backend did not deliver, and answers from the highest rung below that holds."""

    def __init__(self, store: Store, wall: WallClock, second: Second = no_second) -> None:
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

    async def _run_over(self, second: SecondStore, call: Call) -> Outcome | None:
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
