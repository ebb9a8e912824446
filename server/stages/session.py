"""What the conversation remembers: the turn and its budget, the limits, the last search. One trip before, one after."""

from __future__ import annotations

from collections.abc import Callable

from server.call import LEAST_STEP, PAST_DEADLINE, Call, Handler, Outcome
from server.results import tokens_of
from server.stages.shared.begin_request import begin_request, without_foreign_results
from server.stages.shared.pending_writes import all_writes
from server.stages.shared.reminder import reminder
from server.stages.shared.stated import Stated
from session.begin import BeginRequest, Begun
from session.conversation import Conversation
from session.memory import SessionMemory
from session.resilience.clocks import WallClock
from session.resilience.deadline import Deadline
from tools.store.failures import Failure, RateLimited

Recorded = Callable[[str, str | None], None]
"""(session, user) whose history has grown. It neither waits nor fails."""
MOST_WHEN_OVER = 0.04
"""Seconds from its arrival, for a call whose turn is over: its answer is to leave within 50 ms."""


def unheard(session: str, user: str | None) -> None:
    """Where nobody can listen."""


class OpenSession:
    """Sets `begin_request`, `begun`, `preferences`, `conversation`, `history` and `deadline`; writes what the call leaves
    behind."""

    def __init__(
        self,
        memory: SessionMemory,
        stated: Stated,
        call_timeout_ms: int,
        *,
        cache: bool,
        wall: WallClock,
        recorded: Recorded = unheard,
    ) -> None:
        """`recorded` is told of each call that the history of a session has taken up, where somebody listens."""
        self._memory = memory
        self._stated = stated
        self._recorded = recorded
        self._call_timeout_ms = call_timeout_ms
        self._cache = cache
        self._wall = wall

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        self._stated.expect(call)
        request = call.begin_request = begin_request(call, cache=self._cache)
        try:
            return await self._within(call, request, inner)
        finally:
            self._memory.leave(request)

    async def _within(self, call: Call, request: BeginRequest, inner: Handler) -> Outcome:
        begun = await self._memory.begin(request)
        if not begun.retry_after_ms:
            begun = await self._stated.give(call, begun)
        begun = call.begun = without_foreign_results(call, begun, self._wall())
        if begun.degraded or begun.forgotten:
            call.degraded.add("session")
        if begun.retry_after_ms:
            raise RateLimited("Too many calls. Wait a moment.", retry_after_ms=begun.retry_after_ms)
        self._recall(call, begun)
        call.deadline = self._deadline(call, begun)
        if call.interval is not None:
            call.interval.timeline.deadline = call.deadline.at
        try:
            outcome = await inner(call)
        except Failure as failure:
            await self._leave(call, Outcome(failure=failure))
            raise
        await self._leave(call, outcome)
        return outcome

    def _recall(self, call: Call, begun: Begun) -> None:
        if call.session is not None:
            alone = begun.degraded or begun.forgotten
            call.conversation = Conversation(self._memory, call.session, call.principal.user, begun.last, alone)
        call.history = reminder(call, begun, self._wall())

    def _deadline(self, call: Call, begun: Begun) -> Deadline:
        allowed = begun.turn.allowance_ms(call.tool.tool.timeout_ms, call.expected_calls) / 1000
        latest = Deadline(call.arrived + self._call_timeout_ms / 1000, begun.turn.ends.clock)
        return latest.within(allowed)

    async def _leave(self, call: Call, outcome: Outcome) -> None:
        """Makes the second trip. What could not be written in time is lost, and said so."""
        call.tokens = tokens_of(call, outcome)
        steps = all_writes(call, outcome, self._memory, self._wall())
        if call.begun is None or call.begin_request is None or call.begun.degraded:
            return
        if await self._memory.end(steps, _patience(call), call.interval):
            self._memory.recent.written(call.left)
            if call.begun.listened and call.session is not None and call.tool.tool.recorded:
                self._recorded(call.session, call.principal.user)
        else:
            call.degraded.add("session")


def _patience(call: Call) -> float:
    """Returns seconds that the record may take. It has been sent by then, and is waited for as long as the answer is not
    late."""
    assert call.deadline is not None
    latest = call.arrived + MOST_WHEN_OVER if call.turn and call.turn.exhausted else call.deadline.at + PAST_DEADLINE
    return max(LEAST_STEP, latest - call.clock())
