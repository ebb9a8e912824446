"""The same key, user, tool and arguments within ten minutes give the same answer.

A key that runs in this process is joined; one that runs elsewhere is answered SERVER_BUSY; one that was used with other
arguments is a mistake that the caller should hear of. Only live successes are recorded, and orders never are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from server.call import LIVE, Call, Handler, Outcome
from session.begin import ClaimRequest, ClaimState, encode
from session.memory import SessionMemory
from session.resilience.tasks import start_task
from tools.store.failures import Failure, InvalidArguments, ServerBusy, TimedOut, Violation

OWN = frozenset({"session"})
"""What an answer did without that is an affair of its own call, and not of the result."""
LINGER_SECONDS = 0.1
"""Until a call that has ended is surely settled in Redis."""


@dataclass(slots=True)
class KeyedCall:
    """`ended` is set when there is an outcome, or when there is none to share."""

    call: Call
    outcome: Outcome | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class KeyedCalls:
    """By key and arguments."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str], KeyedCall] = {}

    def has(self, call: Call, request: ClaimRequest, *, just_ended: bool) -> bool:
        """Tells whether one runs, or has `just_ended`: to whoever asked before it was settled it still runs. What another
        version of the tool will answer is nothing to wait for."""
        running = self._running.get(_record_key(request))
        if running is None or running.call.tool.form != call.tool.form:
            return False
        return just_ended or not running.ended.is_set()

    @contextmanager
    def running(self, call: Call, request: ClaimRequest) -> Iterator[KeyedCall]:
        """Shares, when the block ends, what is set as its outcome within."""
        own = self._running[_record_key(request)] = KeyedCall(call)
        try:
            yield own
        finally:
            own.ended.set()
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self._forget, request, own)

    async def join(self, call: Call, request: ClaimRequest) -> Outcome:
        """Returns the outcome of the one that runs. Raises `TimedOut` when this call's own time is over first."""
        assert call.deadline is not None
        other = self._running[_record_key(request)]
        try:
            async with asyncio.timeout(call.deadline.remaining()):
                await other.ended.wait()
        except TimeoutError:
            raise TimedOut("The same call is still running.") from None
        if other.outcome is None:
            call.descended = other.call.descended
            raise ServerBusy("The same call has just failed; try again.")
        call.degraded |= other.call.degraded - OWN
        return other.outcome

    def _forget(self, request: ClaimRequest, own: KeyedCall) -> None:
        if self._running.get(_record_key(request)) is own:
            del self._running[_record_key(request)]


def _record_key(request: ClaimRequest) -> tuple[str, str]:
    return request.record, request.arguments


class IdempotencyStage:
    """Runs a call with a key once. The claim on the key came with the trip of the session stage."""

    def __init__(self, memory: SessionMemory) -> None:
        self._memory = memory
        self._keyed = KeyedCalls()
        self._letting_go: set[asyncio.Task[bool]] = set()

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        claim = call.begun.claim if call.begun else None
        request = call.begin_request.claim if call.begin_request else None
        if request is None:
            return await inner(call)
        state = claim.state if claim is not None else ClaimState.NEW
        if state is ClaimState.OTHER:
            raise InvalidArguments([OTHER_ARGUMENTS])
        if claim is not None and claim.result is not None:
            return Outcome(claim.result.value, source=LIVE, as_of=claim.result.made_at)
        if self._keyed.has(call, request, just_ended=state is ClaimState.RUNNING):
            if state is ClaimState.NEW:  # Redis is away, or has forgotten: this process still knows its own
                call.pending_writes.append(self._memory.settle(request, None))
            return await self._keyed.join(call, request)
        if state is ClaimState.RUNNING:
            raise ServerBusy("The same call is still running.")
        return await self._run(call, inner, request, claim.stored if claim is not None else None)

    async def _run(self, call: Call, inner: Handler, request: ClaimRequest, unreadable: bytes | None) -> Outcome:
        """`unreadable` is what stands in the record's place, for this call to overwrite."""
        with self._keyed.running(call, request) as shared:
            try:
                outcome = shared.outcome = await inner(call)
                call.pending_writes.append(self._memory.settle(request, _to_replay(call, outcome), unreadable))
                return outcome
            except Failure:
                call.pending_writes.append(self._memory.settle(request, None, unreadable))
                raise
            except BaseException:  # a cancelled call leaves nothing at its end, and its caller will want the key again
                self._let_go(request)
                raise

    def _let_go(self, request: ClaimRequest) -> None:
        task = start_task(self._memory.end([self._memory.settle(request, None)]), "let go of a key")
        self._letting_go.add(task)
        task.add_done_callback(self._letting_go.discard)


def _to_replay(call: Call, outcome: Outcome) -> bytes | None:
    """Returns the record of a live, whole result, as old as its own answer says. What came with more than JSON is made again
    for whoever asks again: what tools give so is read and changes nothing. So is what obeys preferences: forgotten, their
    words are to stand nowhere."""
    whole = outcome.source == LIVE and not call.degraded - OWN
    if not whole or outcome.value is None or outcome.as_of is None or outcome.content or call.preferences:
        return None
    return encode(outcome.value, outcome.as_of)


OTHER_ARGUMENTS = Violation(
    "$._meta['com.mangaassist/idempotencyKey'] or Idempotency-Key",
    "unique",
    "this key was used with another tool or other arguments",
    "use a new key for a new call",
)
