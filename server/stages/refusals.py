"""What a caller is refused for counts against its limit, though it never got as far as Redis."""

from __future__ import annotations

from server.call import Call, Handler, Outcome
from server.caller_limits import CallerLimits, caller_of
from tools.failures import CallerFailure, RateLimited


class Refusals:
    """Around whatever may refuse a call before its session is opened, which counts the call itself."""

    def __init__(self, limits: CallerLimits) -> None:
        self._limits = limits

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        try:
            return await inner(call)
        except RateLimited:
            raise
        except CallerFailure:
            if call.begun is None and (wait_ms := self._limits.charge(caller_of(call))):
                raise RateLimited("Too many calls were refused. Wait a moment.", retry_after_ms=wait_ms) from None
            raise
