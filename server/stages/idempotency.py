"""The same key, user, tool and arguments within ten minutes give the same answer.

A key that runs in this process is joined; one that runs elsewhere is answered SERVER_BUSY; one that was used with other
arguments is a mistake that the caller should hear of. Only live successes are recorded, and orders never are.
"""

from __future__ import annotations

import asyncio
import time

from server.call import LIVE, Call, Handler, Outcome
from session.memory import Claim, ClaimRequest, ClaimState, SessionMemory
from session.result_cache import encode
from tools.failures import InvalidArguments, ServerBusy, TimedOut, Violation

RETRY_AFTER_MS = 100


class Idempotency:
    def __init__(self, memory: SessionMemory) -> None:
        self._memory = memory
        self._running: dict[tuple[str, str], asyncio.Future[Outcome | None]] = {}

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        claim = call.begun.claim if call.begun else None
        request = call.begin_request.claim if call.begin_request else None
        if request is None:
            return await inner(call)
        place = (request.record, request.arguments)
        if claim is not None and claim.state is not ClaimState.NEW:
            return await self._known(call, claim, place)
        if claim is None and place in self._running:  # Redis is away: this process still knows its own
            return await self._join(call, place)
        return await self._run(call, inner, request, place)

    async def _known(self, call: Call, claim: Claim, place: tuple[str, str]) -> Outcome:
        if claim.state is ClaimState.OTHER:
            raise InvalidArguments([OTHER_ARGUMENTS])
        if claim.state is ClaimState.DONE and claim.result is not None:
            return Outcome(claim.result.value, source=LIVE, as_of=claim.result.made_at)
        if place in self._running:
            return await self._join(call, place)
        raise ServerBusy("The same call is still running.", retry_after_ms=RETRY_AFTER_MS)

    async def _join(self, call: Call, place: tuple[str, str]) -> Outcome:
        assert call.deadline is not None
        try:
            async with asyncio.timeout(call.deadline.remaining()):
                outcome = await asyncio.shield(self._running[place])
        except TimeoutError:
            raise TimedOut("The same call is still running.", retry_after_ms=RETRY_AFTER_MS) from None
        if outcome is None:
            raise ServerBusy("The same call has just failed; try again.", retry_after_ms=RETRY_AFTER_MS)
        return outcome

    async def _run(self, call: Call, inner: Handler, request: ClaimRequest, place: tuple[str, str]) -> Outcome:
        future: asyncio.Future[Outcome | None] = asyncio.get_running_loop().create_future()
        self._running[place] = future
        outcome: Outcome | None = None
        try:
            outcome = await inner(call)
            return outcome
        finally:
            del self._running[place]
            future.set_result(outcome)
            live = outcome is not None and outcome.source == LIVE and outcome.value is not None
            result = encode(outcome.value, time.time()) if live and outcome and outcome.value else None
            call.leaves.append(self._memory.settle(request, result))


OTHER_ARGUMENTS = Violation(
    "$._meta['com.mangaassist/idempotencyKey'] or Idempotency-Key",
    "unique",
    "this key was used with another tool or other arguments",
    "use a new key for a new call",
)
