"""Calls with an idempotency key that run in this process, for others of the same key to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from server.call import Call, Outcome
from session.begin import ClaimRequest
from tools.store.failures import ServerBusy, TimedOut

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
