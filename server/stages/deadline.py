"""The call's deadline: what runs inside is cancelled when it passes."""

from __future__ import annotations

import asyncio

from server.call import Call, Handler, Outcome
from tools.store.failures import TimedOut


class EnforceDeadline:
    """Works for the call's own time, or for that of the flight it shares."""

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        deadline = call.flight or call.deadline
        assert deadline is not None
        try:
            async with asyncio.timeout(deadline.remaining()):
                return await inner(call)
        except TimeoutError:
            raise TimedOut("This took too long and was stopped.", retry_after_ms=100) from None
