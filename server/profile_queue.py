"""What customers did, on its way into their long-term profiles: behind the calls, and never in front of one."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from session.deadline import Deadline
from session.profile import Event, ProfileStore
from tools.failures import BackendFailure

logger = logging.getLogger(__name__)

MOST_WAITING = 1000
AT_ONCE = 8
WRITE_SECONDS = 0.5
DRAIN_SECONDS = 0.5

WRITTEN, DROPPED = "written", "dropped"


@dataclass(slots=True)
class ProfileQueue:
    """Takes events at once and writes a few at a time. An event that finds no room, or that the backend does not take within
    half a second, is dropped: a profile is richer with it, and nothing else hangs on it.

    `told` counts each as written or dropped. Nothing that is logged or counted says whose an event was, or what.
    """

    profiles: ProfileStore
    told: Callable[[str], None]
    _waiting: deque[tuple[str, Event]] = field(default_factory=deque)
    _writes: set[asyncio.Task[None]] = field(default_factory=set)
    _closed: bool = False

    def put(self, user: str, event: Event) -> None:
        if self._closed or len(self._waiting) >= MOST_WAITING:
            self.told(DROPPED)
            return
        self._waiting.append((user, event))
        self._begin()

    async def aclose(self) -> None:
        """Gives what is waiting a moment, then lets go of it."""
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while self._writes:
                    await asyncio.wait(self._writes)
        except TimeoutError:
            pass
        self._closed = True
        for _ in range(len(self._waiting)):
            self._waiting.popleft()
            self.told(DROPPED)
        for task in self._writes:
            task.cancel()
        await asyncio.gather(*self._writes, return_exceptions=True)

    def _begin(self) -> None:
        while self._waiting and len(self._writes) < AT_ONCE:
            user, event = self._waiting.popleft()
            write = self.profiles.remember(user, event, Deadline.after(WRITE_SECONDS))
            task = asyncio.create_task(write, name="profile")
            self._writes.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._writes.discard(task)
        failure = None if task.cancelled() else task.exception()
        self.told(DROPPED if task.cancelled() or failure else WRITTEN)
        if failure is not None and not isinstance(failure, BackendFailure):
            logger.error("an event could not be written to a profile: %s", type(failure).__name__)
        self._begin()
