"""Idempotency: the same key, user, tool and arguments within ten minutes get the same answer.

A key that runs in this process is joined; one that runs elsewhere is answered SERVER_BUSY; one that was used with other
arguments is a VALIDATION_ERROR. Only live successes are recorded; orders never are, and of preferences no words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from server.call import LIVE, Call, Handler, Outcome
from session.begin import ClaimRequest, ClaimState, encode
from session.memory import SessionMemory
from session.resilience.tasks import Tasks
from tools.store.failures import Failure, InvalidArguments, ServerBusy, TimedOut, Violation

OWN = frozenset({"session"})
"""Degradations that concern one call alone, not its result."""
LINGER_SECONDS = 0.1
"""How long an ended call is still joined: until Redis has settled it for certain."""


@dataclass(slots=True)
class KeyedCall:
    """A call that runs under a key. `ended` is set with or without an outcome to share."""

    call: Call
    outcome: Outcome | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class KeyedCalls:
    """The calls that run in this process, by their key and arguments."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str], KeyedCall] = {}

    def find(self, call: Call, request: ClaimRequest, *, just_ended: bool) -> KeyedCall | None:
        """The call with this key that runs, or has `just_ended`, by the same version of the tool."""
        other = self._running.get((request.record, request.arguments))
        if other is None or other.call.tool.form != call.tool.form:
            return None
        return other if just_ended or not other.ended.is_set() else None

    @contextmanager
    def running(self, call: Call, request: ClaimRequest) -> Iterator[KeyedCall]:
        """Registers a call; its outcome is shared when the block ends."""
        key, own = (request.record, request.arguments), KeyedCall(call)
        self._running[key] = own

        def forget() -> None:
            if self._running.get(key) is own:
                del self._running[key]

        try:
            yield own
        finally:
            own.ended.set()
            asyncio.get_running_loop().call_later(LINGER_SECONDS, forget)


async def join(call: Call, other: KeyedCall) -> Outcome:
    """The other call's outcome. Raises `TimedOut` at this call's own deadline, and `ServerBusy` where the other failed."""
    try:
        async with asyncio.timeout(call.due.remaining()):
            await other.ended.wait()
    except TimeoutError:
        raise TimedOut("The same call is still running.") from None
    if other.outcome is None:
        call.descended = other.call.descended
        raise ServerBusy("The same call has just failed; try again.")
    call.degraded |= other.call.degraded - OWN
    return other.outcome


OTHER_ARGUMENTS = Violation(
    "$._meta['com.mangaassist/idempotencyKey'] or Idempotency-Key",
    "unique",
    "this key was used with another tool or other arguments",
    "use a new key for a new call",
)


class IdempotencyStage:
    """Runs a call with a key once. The begin trip has claimed the key."""

    def __init__(self, memory: SessionMemory) -> None:
        self._memory = memory
        self._keyed = KeyedCalls()
        self._releasing = Tasks()

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        request, claim = call.opened.request.claim, call.opened.claim
        if request is None:
            return await inner(call)
        state = claim.state if claim is not None else ClaimState.NEW
        if state is ClaimState.OTHER:
            raise InvalidArguments([OTHER_ARGUMENTS])
        if claim is not None and claim.result is not None:
            return Outcome(claim.result.value, source=LIVE, as_of=claim.result.made_at)
        if other := self._keyed.find(call, request, just_ended=state is ClaimState.RUNNING):
            if state is ClaimState.NEW:  # Redis is away or has forgotten; this process still knows its own calls
                call.pending_writes.append(self._memory.settle(request, None))
            return await join(call, other)
        if state is ClaimState.RUNNING:
            raise ServerBusy("The same call is still running.")
        return await self._run(call, inner, request, claim.stored if claim is not None else None)

    async def _run(self, call: Call, inner: Handler, request: ClaimRequest, unreadable: bytes | None) -> Outcome:
        """Runs the call and records its result; `unreadable` is the stored record that it overwrites."""
        with self._keyed.running(call, request) as shared:
            try:
                outcome = shared.outcome = await inner(call)
                call.pending_writes.append(self._memory.settle(request, _encode_replay(call, outcome), unreadable))
                return outcome
            except Failure:
                call.pending_writes.append(self._memory.settle(request, None, unreadable))
                raise
            except BaseException:  # a cancelled call makes no end trip, and its caller will retry with the key
                released = self._memory.end([self._memory.settle(request, None)])
                self._releasing.start(released, "release of an idempotency key")
                raise


def _encode_replay(call: Call, outcome: Outcome) -> bytes | None:
    """The record of a live, whole result. Results with content blocks run again, since they are read-only; results that
    obey preferences are not recorded, because a forgotten preference must stand nowhere."""
    whole = outcome.source == LIVE and not call.degraded - OWN
    if not whole or outcome.value is None or outcome.as_of is None or outcome.content or call.preferences:
        return None
    kept = call.tool.tool.replayed(outcome.value)
    return encode(kept, outcome.as_of) if kept is not None else None
