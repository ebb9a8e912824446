"""The ladder below a failed backend: the last result, labelled stale, then the tool's own fallback, then the failure."""

from __future__ import annotations

from server.call import FALLBACK, STALE, Call, Handler, Outcome
from server.stages.shared.run_tool import context_of
from session.resilience.clocks import WallClock
from tools.store.failures import BackendFailure
from tools.store.store import Store

RUNG_SECONDS = 0.025
"""What a fallback may take: it works from memory, within the share that every call keeps back for it."""


class Ladder:
    """Catches what a backend did not deliver, and answers from the highest rung below that holds."""

    def __init__(self, store: Store, wall: WallClock) -> None:
        self._store = store
        self._wall = wall

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        try:
            return await inner(call)
        except BackendFailure as failure:
            call.descended = True
            return self._stale(call) or await self._fallback(call, failure)

    def _stale(self, call: Call) -> Outcome | None:
        policy = call.tool.tool.cache
        cached = call.begun.cached if call.begun else None
        if policy is None or cached is None or cached.age_seconds(self._wall()) > policy.stale_seconds:
            return None
        return Outcome(cached.value, source=STALE, as_of=cached.made_at)

    async def _fallback(self, call: Call, failure: BackendFailure) -> Outcome:
        fallback = call.tool.tool.fallback
        if fallback is None:
            raise failure
        context = context_of(call, self._store, call.late_end(RUNG_SECONDS))
        try:
            value = await fallback.handler(context, call.arguments)
        except BackendFailure:
            raise failure from None  # the first failure says more than the last rung's
        return Outcome(value, source=FALLBACK, fallback=fallback.name, content=tuple(context.content))
