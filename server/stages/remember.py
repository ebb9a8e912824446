from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from server.call import CACHE, LIVE, Call, Handler, Outcome
from session.profile import Event, EventKind
from session.resilience.breaker import Outage
from session.resilience.clocks import Clock, Now
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from session.resilience.tasks import end_task, start_task, wait_for
from tools.store.failures import BackendFailure
from tools.store.ports import ProfilePort

logger = logging.getLogger(__name__)

MOST_WAITING = 1000
COLLECT_SECONDS = 1.0
BATCH_SIZE = 25
"""This many waiting events are written without further delay, since one DynamoDB request takes no more."""
WRITE_SECONDS = 0.5
DRAIN_SECONDS = 0.5
KNOWN_SECONDS = 600.0

WRITTEN, REPEATED, DROPPED = "written", "repeated", "dropped"

_Subject = tuple[str, EventKind, str]
"""User, kind and subject of an event."""


@dataclass(slots=True)
class ProfileQueue:
    """A write-behind queue of profile events, written in batches each second, or as soon as 25 events wait.

    An event replaces an equal one in the queue, and is ignored if an equal one was written within the last ten minutes.
    Events are dropped if the queue is full, or if the backend does not accept their batch within half a second. `count` is
    called once per event with "written", "repeated" or "dropped". Counts and logs contain neither users nor subjects."""

    profiles: ProfilePort
    count: Callable[[str], None]
    clock: Clock
    _waiting: dict[_Subject, Event] = field(default_factory=dict)
    _known: Lru[_Subject, float] = field(default_factory=lambda: Lru(5_000))
    """The start of the last write of each event, in seconds of `clock`, the latest last."""
    _hurry: asyncio.Event = field(default_factory=asyncio.Event)
    _writer: asyncio.Task[None] | None = None
    _closed: bool = False
    _outage: Outage = field(init=False)

    def __post_init__(self) -> None:
        self._outage = Outage(logger, "the writing of profiles", clock=self.clock)

    def put(self, user: str, event: Event) -> None:
        what = (user, event.kind, event.subject)
        if self._closed:
            self.count(DROPPED)
        elif what in self._waiting:
            self._waiting[what] = event
            self.count(REPEATED)
        elif (written := self._known.peek(what)) is not None and self.clock() < written + KNOWN_SECONDS:
            self.count(REPEATED)
        elif len(self._waiting) >= MOST_WAITING:
            self.count(DROPPED)
        else:
            self._waiting[what] = event
            if len(self._waiting) >= BATCH_SIZE:
                self._hurry.set()
            if self._writer is None or self._writer.done():
                self._writer = start_task(self._write(), "profiles")

    async def aclose(self) -> None:
        """Closes the queue, and drops the events that are not written within `DRAIN_SECONDS`."""
        self._closed = True
        self._hurry.set()
        if self._writer is not None:
            await asyncio.wait({self._writer}, timeout=DRAIN_SECONDS)
            await end_task(self._writer)
        self._tell(DROPPED, len(self._waiting))
        self._waiting.clear()

    async def _write(self) -> None:
        while self._waiting:
            await wait_for(self._hurry, COLLECT_SECONDS)
            batch, self._waiting = self._waiting, {}
            self._hurry.clear()
            await self._write_batch(batch)

    async def _write_batch(self, batch: dict[_Subject, Event]) -> None:
        entries = [(user, event) for (user, _, _), event in batch.items()]
        written = False
        now = self.clock()
        for what in batch:
            self._known.put(what, now)
        self._known.pop_while(lambda at: at + KNOWN_SECONDS <= now)
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await self.profiles.remember(entries, Deadline.after(WRITE_SECONDS, self.clock))
            written = True
            self._outage.record_recovery()
        except (BackendFailure, OSError) as failure:
            self._outage.record_failure(failure.name if isinstance(failure, BackendFailure) else type(failure).__name__)
        except Exception as failure:
            logger.error("events could not be written to profiles: %s", type(failure).__name__)
        finally:
            if not written:
                for what in batch:
                    self._known.pop(what)
            self._tell(WRITTEN if written else DROPPED, len(batch))

    def _tell(self, result: str, times: int) -> None:
        for _ in range(times):
            self.count(result)


class RememberStage:
    """Queues a known customer's search or viewed title for the long-term profile, if the answer is live or cached."""

    def __init__(self, queue: ProfileQueue, now: Now) -> None:
        self._queue = queue
        self._now = now

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        outcome = await inner(call)
        trace, user = call.tool.tool.leaves_in_profile, call.customer
        if trace is not None and user is not None and outcome.has_succeeded and outcome.source in (LIVE, CACHE):
            subject = trace.subject(call.arguments)
            if subject:
                self._queue.put(user, Event.make_event(trace.kind, subject, self._now()))
        return outcome
