"""The same key, user, tool and arguments within ten minutes give the same answer.

A key that runs in this process is joined; one that runs elsewhere is answered SERVER_BUSY; one that was used with other
arguments is a mistake that the caller should hear of. Only live successes are recorded, and orders never are.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from server.call import LIVE, Call, Handler, Outcome
from session.begin import Claim, ClaimRequest, ClaimState
from session.memory import SessionMemory
from session.result_cache import encode
from tools.failures import Failure, InvalidArguments, ServerBusy, TimedOut, Violation

RETRY_AFTER_MS = 100


@dataclass(frozen=True, slots=True)
class Running:
    """A keyed call under way. `outcome` will be None when it failed; `degraded` is what it has to do without."""

    outcome: asyncio.Future[Outcome | None]
    degraded: set[str]


class Idempotency:
    def __init__(self, memory: SessionMemory) -> None:
        self._memory = memory
        self._running: dict[tuple[str, str], Running] = {}
        self._letting_go: set[asyncio.Task[bool]] = set()

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        claim = call.begun.claim if call.begun else None
        request = call.begin_request.claim if call.begin_request else None
        if request is None:
            return await inner(call)
        place = (request.record, request.arguments)
        if claim is not None and claim.state is not ClaimState.NEW:
            return await self._known(call, claim, place)
        if place in self._running:  # Redis is away, or has forgotten: this process still knows its own
            call.leaves.append(self._memory.settle(request, None))
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
        running = self._running[place]
        try:
            async with asyncio.timeout(call.deadline.remaining()):
                outcome = await asyncio.shield(running.outcome)
        except TimeoutError:
            raise TimedOut("The same call is still running.", retry_after_ms=RETRY_AFTER_MS) from None
        if outcome is None:
            raise ServerBusy("The same call has just failed; try again.", retry_after_ms=RETRY_AFTER_MS)
        call.degraded |= running.degraded - OWN
        return outcome

    async def _run(self, call: Call, inner: Handler, request: ClaimRequest, place: tuple[str, str]) -> Outcome:
        future: asyncio.Future[Outcome | None] = asyncio.get_running_loop().create_future()
        self._running[place] = Running(future, call.degraded)
        outcome: Outcome | None = None
        try:
            outcome = await inner(call)
            call.leaves.append(self._memory.settle(request, _to_replay(call, outcome)))
            return outcome
        except Failure:
            call.leaves.append(self._memory.settle(request, None))
            raise
        except BaseException:  # a cancelled call leaves nothing at its end, and its caller will want the key again
            self._let_go(request)
            raise
        finally:
            del self._running[place]
            future.set_result(outcome)

    def _let_go(self, request: ClaimRequest) -> None:
        task = asyncio.create_task(self._memory.end([self._memory.settle(request, None)]), name="let go of a key")
        self._letting_go.add(task)
        task.add_done_callback(self._letting_go.discard)


def _to_replay(call: Call, outcome: Outcome) -> bytes | None:
    """The record of a live, whole result."""
    if outcome.source != LIVE or outcome.value is None or call.degraded - OWN:
        return None
    return encode(outcome.value, time.time())


OWN = frozenset({"session"})
"""What an answer did without that is an affair of its own call, and not of the result."""


OTHER_ARGUMENTS = Violation(
    "$._meta['com.mangaassist/idempotencyKey'] or Idempotency-Key",
    "unique",
    "this key was used with another tool or other arguments",
    "use a new key for a new call",
)
