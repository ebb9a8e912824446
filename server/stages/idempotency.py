"""Idempotency: a call repeated within ten minutes gets the first call's answer if key, user (else session), tool and
arguments are equal.

If the first call still runs in this process, the repeat waits for it; if it runs in another process, the repeat gets
SERVER_BUSY. A key used with another tool or arguments gets VALIDATION_ERROR. Only live, complete successes are recorded, and
none with content blocks, orders or the text of preferences; without a record, a repeat runs again.

A record is encrypted for its caller, key, tool and arguments. One that cannot be opened counts as absent, so a repeat runs
again: a write must stand that anyway, as Redis may lose a record, and who can forge one can also remove it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from server.call import LIVE, Call, Handler, Outcome
from session.begin import ClaimRequest, ClaimState, encode
from session.memory import SessionMemory
from session.resilience.tasks import Tasks, wait_for
from tools.store.failures import Failure, InvalidArguments, ServerBusy, TimedOut, Violation

CALL_ONLY_DEGRADATIONS = frozenset({"session"})
"""Members of `Call.degraded` that concern one call alone and not its result."""
LINGER_SECONDS = 0.1
"""Seconds for which an ended call can still be joined: until its record has reached Redis for certain."""


@dataclass(slots=True)
class KeyedCall:
    """A call with an idempotency key. `ended` is set when it has ended; `outcome` stays None if it failed."""

    call: Call
    outcome: Outcome | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)


async def join(call: Call, other: KeyedCall) -> Outcome:
    """Returns the outcome of `other`. Raises `TimedOut` at the deadline of `call`, and `ServerBusy` if `other` failed."""
    if not await wait_for(other.ended, call.required_deadline.remaining()):
        raise TimedOut("The same call is still running.")
    if other.outcome is None:
        call.fallback_tried = other.call.fallback_tried
        raise ServerBusy("The same call has just failed; try again.")
    call.degraded |= other.call.degraded - CALL_ONLY_DEGRADATIONS
    return other.outcome


OTHER_ARGUMENTS = Violation(
    "$._meta['com.mangaassist/idempotencyKey'] or Idempotency-Key",
    "unique",
    "this key was used with another tool or other arguments",
    "use a new key for a new call",
)


class IdempotencyStage:
    def __init__(self, memory: SessionMemory) -> None:
        self._memory = memory
        self._running: dict[tuple[str, str], KeyedCall] = {}
        self._releasing = Tasks()

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        request, claim = call.required_begin.request.claim, call.required_begin.claim
        if request is None:
            return await inner(call)
        state = claim.state if claim is not None else ClaimState.NEW
        if state is ClaimState.OTHER:
            raise InvalidArguments([OTHER_ARGUMENTS])
        if claim is not None and claim.result is not None:
            return Outcome(claim.result.value, source=LIVE, as_of=claim.result.made_at)
        if other := self._find(call, request, just_ended=state is ClaimState.RUNNING):
            if state is ClaimState.NEW:  # Redis is unavailable or lost the claim; this process still knows its calls
                call.pending_writes.append(self._memory.settle(request, None))
            return await join(call, other)
        if state is ClaimState.RUNNING:
            raise ServerBusy("The same call is still running.")
        return await self._run(call, inner, request, claim.stored if claim is not None else None)

    async def _run(self, call: Call, inner: Handler, request: ClaimRequest, unreadable: bytes | None) -> Outcome:
        """Runs the call and queues the write of its result, in place of an `unreadable` record if there is one."""
        key, own = (request.record.name, request.arguments), KeyedCall(call)
        self._running[key] = own
        try:
            outcome = own.outcome = await inner(call)
            call.pending_writes.append(self._memory.settle(request, _encode_replay(call, outcome, request), unreadable))
            return outcome
        except Failure:
            call.pending_writes.append(self._memory.settle(request, None, unreadable))
            raise
        except BaseException:  # a cancelled call makes no last Redis trip, and its caller will retry with the key
            released = self._memory.end([self._memory.settle(request, None)])
            self._releasing.start(released, "release of an idempotency key")
            raise
        finally:
            own.ended.set()
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self._forget, key, own)

    def _forget(self, key: tuple[str, str], ended: KeyedCall) -> None:
        if self._running.get(key) is ended:
            del self._running[key]

    def _find(self, call: Call, request: ClaimRequest, *, just_ended: bool) -> KeyedCall | None:
        """Returns the running call with the same key, arguments and tool version, or None. If `just_ended`, also finds a
        call that ended less than `LINGER_SECONDS` ago."""
        other = self._running.get((request.record.name, request.arguments))
        if other is None or other.call.tool.form != call.tool.form:
            return None
        return other if just_ended or not other.ended.is_set() else None


def _encode_replay(call: Call, outcome: Outcome, request: ClaimRequest) -> bytes | None:
    """Returns the bytes to record for repeats; None if the result is not to be recorded. Results with content blocks are not
    recorded, since their tools only read; nor are those that obey preferences, since they may quote deleted ones."""
    whole = outcome.source == LIVE and not call.degraded - CALL_ONLY_DEGRADATIONS
    if not whole or outcome.value is None or outcome.as_of is None or outcome.content or call.preferences:
        return None
    kept = call.tool.tool.replayed(outcome.value)
    return encode(kept, outcome.as_of, request.record) if kept is not None else None
