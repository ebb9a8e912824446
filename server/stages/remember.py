"""What a signed-in person looked for and looked at goes into their long-term profile, behind the answer."""

from __future__ import annotations

from server.call import CACHE, LIVE, Call, Handler, Outcome
from server.runtime.profile_queue import ProfileQueue
from session.profile import Event
from session.resilience.clocks import Now


class Remember:
    """Only what was asked for and given, live or from the cache: an anonymous caller leaves nothing, and neither does a call
    that failed, a fallback, or a refresh that nobody asked for."""

    def __init__(self, queue: ProfileQueue, now: Now) -> None:
        self._queue = queue
        self._now = now

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        outcome = await inner(call)
        trace, user = call.tool.tool.leaves_in_profile, call.customer
        if trace is not None and user is not None and outcome.succeeded and outcome.source in (LIVE, CACHE):
            subject = trace.subject(call.arguments)
            if subject:
                self._queue.put(user, Event.happened(trace.kind, subject, self._now()))
        return outcome
