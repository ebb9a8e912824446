"""The event stream `/ops/events`: one publisher, and at most `MOST_PAGES` subscribers."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from server.ops.observation import Observation
from server.transport.http.responses import EventResponse, busy, wait_until_idle
from server.transport.http.slots import NoRoom, Slot, Slots, holder_of
from session.resilience.clocks import Clock
from session.resilience.tasks import end_task, start_task

MOST_PAGES = 8
MOST_WAITING_BYTES = 2**17
"""Most bytes of calls queued for one page; further calls are dropped. Only the newest state is queued."""
TICK_SECONDS = 0.5
LINGER_SECONDS = 3.0
"""The publisher continues for this long without subscribers, so that a reloaded page finds its figures again."""
FINISH_SECONDS = 0.5
CHECK_SECONDS = 5.0
"""Seconds between checks that a subscriber's token is still valid."""
FULL = f"{MOST_PAGES} pages are open, which is all that this server shows. Close one."


@dataclass(slots=True, eq=False, kw_only=True)
class Subscriber(Slot):
    """One event stream and its queue of messages about ended calls. Messages that exceed the queue are dropped.
    Cancelling `scope` interrupts the stream's current wait."""

    over: bool = False
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _state: bytes = b""
    _calls: deque[bytes] = field(default_factory=deque)
    _waiting: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def push(self, state: bytes, calls: bytes) -> None:
        """Queues calls, and a state, which replaces a queued state. Either may be empty."""
        if not state and not calls:
            return
        self._state = state or self._state
        if calls and self._waiting + len(calls) <= MOST_WAITING_BYTES:
            self._calls.append(calls)
            self._waiting += len(calls)
        self._changed.set()

    def end(self) -> None:
        self.over = True
        self._changed.set()

    def interrupt(self) -> None:
        self.end()
        self.scope.cancel()

    async def take(self) -> bytes:
        """Waits for messages and returns all queued ones; b"" once none is queued and the stream has ended (`over`)."""
        await self._changed.wait()
        taken = b"".join((self._state, *self._calls))
        self._state, self._waiting = b"", 0
        self._calls.clear()
        if not self.over:
            self._changed.clear()
        return taken


class Subscribers(Slots[Subscriber]):
    """The open streams. One holder, such as an address, may use all slots; a new holder takes over up to an equal share."""

    def __init__(self) -> None:
        super().__init__(MOST_PAGES, math.inf, math.inf)

    def end(self) -> None:
        for each in self:
            each.end()


class Publisher:
    """Publishes an observation while there are subscribers and for `LINGER_SECONDS` after, and then discards it."""

    def __init__(
        self, subscribers: Subscribers, begin: Callable[[], Observation], is_draining: Callable[[], bool], clock: Clock
    ) -> None:
        self._subscribers, self._begin, self._is_draining, self._clock = subscribers, begin, is_draining, clock
        self._observation: Observation | None = None
        self._task: asyncio.Task[None] | None = None

    def greeting(self) -> bytes:
        """Returns a stream's first events: the server's description and state. Starts an observation if there is none."""
        if self._observation is None:
            self._observation = self._begin()
            self._task = start_task(self._run(self._observation), "ops")
        observation = self._observation
        return b"retry: 2000\n\n" + event("hello", observation.hello()) + event("state", observation.state())

    async def aclose(self) -> None:
        await end_task(self._task)

    async def _run(self, observation: Observation) -> None:
        ticks, needed_at = 0, self._clock()
        try:
            while self._clock() - needed_at < LINGER_SECONDS:
                await asyncio.sleep(TICK_SECONDS)
                ticks += 1
                self._publish(observation, ticks)
                if len(self._subscribers):
                    needed_at = self._clock()
        finally:
            self._observation, self._task = None, None
            self._subscribers.end()
            observation.end()

    def _publish(self, observation: Observation, ticks: int) -> None:
        """Sends ended calls, and the state at every second tick. In a drain, sends the state and ends all streams."""
        draining = self._is_draining()
        observation.tick()
        messages = b"".join(event("call", each) for each in observation.calls())
        if ticks % 30 == 0:  # an SSE comment every 15 s keeps proxies from closing the stream as idle
            messages += b": beat\n\n"
        state = event("state", observation.state()) if draining or ticks % 2 == 0 else b""
        for subscriber in self._subscribers:
            subscriber.push(state, messages)
        if draining:
            self._subscribers.end()


def event(name: str, data: dict[str, Any]) -> bytes:
    """Formats a server-sent event (HTML, section 9.2.5). The JSON contains no line breaks."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), to_json(data, inf_nan_mode="null"))


class StreamEndpoint:
    def __init__(
        self, subscribers: Subscribers, publisher: Publisher, still_allowed: Callable[[Scope], Awaitable[bool]]
    ) -> None:
        self._subscribers, self._publisher, self._still_allowed = subscribers, publisher, still_allowed
        self._closed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            await EventResponse(send).write(b"", more=False)
            return
        subscriber = Subscriber(holder=holder_of(scope))
        try:
            if self._closed:
                raise NoRoom
            with self._subscribers.holding(subscriber, Subscriber.interrupt):
                await self._serve(subscriber, scope, receive, send)
        except NoRoom:
            await busy(FULL)(scope, receive, send)

    async def close_all(self) -> None:
        """Refuses new streams, ends all others, and cancels those that are still open after `FINISH_SECONDS`."""
        self._closed = True
        self._subscribers.end()
        await wait_until_idle(lambda: bool(len(self._subscribers)), FINISH_SECONDS)
        for each in self._subscribers:
            each.scope.cancel()
        await self._publisher.aclose()

    async def _serve(self, subscriber: Subscriber, scope: Scope, receive: Receive, send: Send) -> None:
        messages, response = self._publisher.greeting(), EventResponse(send)
        watching, now = start_task(_watch_client(subscriber, receive), "ops-gone"), asyncio.get_running_loop().time
        try:
            with subscriber.scope:
                checked_at = now()
                while messages:
                    await response.write(messages)
                    if now() - checked_at >= CHECK_SECONDS:
                        checked_at = now()
                        if not await self._still_allowed(scope):
                            return
                    messages = await subscriber.take()
        finally:
            await end_task(watching)
            with anyio.move_on_after(FINISH_SECONDS):  # a client that has stopped reading would block this
                await response.write(b"", more=False)


async def _watch_client(subscriber: Subscriber, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    subscriber.interrupt()
