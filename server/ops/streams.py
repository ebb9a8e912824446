"""`/ops/events`: how a stream begins, is told, and ends."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from server.transport.http.responses import busy
from server.transport.http.slots import NoRoom, Slot, Slots, holder_of
from server.transport.http.streams import HEADERS
from session.resilience.clocks import Clock
from session.resilience.tasks import start_task

MOST_PAGES = 8
MOST_WAITING_BYTES = 2**17
"""Of calls, for a page that does not read. Of figures only the newest wait."""


@dataclass(slots=True, eq=False, kw_only=True)
class Reader(Slot):
    """One stream. Whoever does not keep up loses calls: `lost` is how many bytes of them. To cancel `scope` ends what it
    waits for."""

    over: bool = False
    lost: int = 0
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _first: bytes = b""
    _state: bytes = b""
    _calls: deque[bytes] = field(default_factory=deque)
    _waiting: int = 0
    _something: asyncio.Event = field(default_factory=asyncio.Event)

    def greet(self, first: bytes) -> None:
        """Says this before all else."""
        self._first = first
        self._something.set()

    def tell(self, state: bytes, calls: bytes) -> None:
        """Either may be empty, or both, which is nothing to take."""
        if not state and not calls:
            return
        self._state = state or self._state
        if calls and self._waiting + len(calls) <= MOST_WAITING_BYTES:
            self._calls.append(calls)
            self._waiting += len(calls)
        else:
            self.lost += len(calls)
        self._something.set()

    def end(self) -> None:
        """What waits is still said."""
        self.over = True
        self._something.set()

    async def take(self) -> bytes:
        """Waits for something, and returns all that there is; nothing at the end."""
        await self._something.wait()
        taken = b"".join((self._first, self._state, *self._calls))
        self._first, self._state, self._waiting = b"", b"", 0
        self._calls.clear()
        if not self.over:
            self._something.clear()
        return taken

    @property
    def waiting_bytes(self) -> int:
        return len(self._first) + len(self._state) + self._waiting


class Readers:
    """At most `MOST_PAGES` readers. One holder may have all of them, and gives one up for the first of another holder."""

    def __init__(self) -> None:
        self._slots: Slots[Reader] = Slots(MOST_PAGES, math.inf, math.inf)
        self._none_left = asyncio.Event()

    def __len__(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[Reader]:
        return iter(self._slots)

    def join(self, reader: Reader) -> None:
        """Raises `NoRoom`."""
        if (ended := self._slots.take(reader)) is not None:
            ended.end()
            ended.scope.cancel()
        self._none_left.clear()

    def leave(self, reader: Reader) -> None:
        self._slots.leave(reader)
        if not len(self._slots):
            self._none_left.set()

    def tell(self, state: bytes, calls: bytes) -> None:
        for reader in self._slots:
            reader.tell(state, calls)

    def end(self) -> None:
        for reader in self._slots:
            reader.end()

    async def ended(self, seconds: float) -> None:
        """Ends all; those who have not taken the end within so many seconds go without it."""
        self.end()
        with anyio.move_on_after(seconds):
            if len(self._slots):
                await self._none_left.wait()
        for reader in self._slots:
            reader.scope.cancel()


logger = logging.getLogger(__name__)
TICK_SECONDS = 0.5
STATE_TICKS = 2
BEAT_TICKS = 30
"""A comment each 15 seconds keeps proxies from taking the stream for dead, whatever becomes of the figures."""
LINGER_SECONDS = 3.0
"""A page that is loaded again finds what it showed before."""
RETRY = b"retry: 2000\n\n"
BEAT = b": beat\n\n"
Json = dict[str, Any]


class Observed(Protocol):
    """What is kept while somebody looks."""

    def hello(self) -> Json: ...

    def state(self) -> Json: ...

    def calls(self) -> list[Json]:
        """Returns those since it was asked last."""
        ...

    def tick(self) -> None:
        """Time has passed."""
        ...

    def end(self) -> None: ...


class Teller:
    """Begins with the first reader and ends some seconds after the last: with that, all that was kept is given back."""

    def __init__(self, readers: Readers, begin: Callable[[], Observed], over: Callable[[], bool], clock: Clock) -> None:
        """`begin` makes what is observed; `over` tells that the server stops."""
        self._readers, self._begin, self._over, self._clock = readers, begin, over, clock
        self._observed: Observed | None = None
        self._state = b""
        self._task: asyncio.Task[None] | None = None

    @property
    def observes(self) -> bool:
        return self._observed is not None

    def greet(self, reader: Reader) -> None:
        """Tells a newcomer who speaks and how things stand."""
        if self._observed is None:
            self._observed = self._begin()
            self._task = start_task(self._keep(self._observed), "ops")
        self._state = self._state or event("state", self._observed.state())
        reader.greet(RETRY + event("hello", self._observed.hello()) + self._state)

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _keep(self, observed: Observed) -> None:
        """Until nobody has looked for a moment. Whoever still looks when it ends, by a fault, is not left with a stream that
        says nothing any more: a page opens another."""
        ticks, looked_at = 0, self._clock()
        try:
            while self._clock() - looked_at < LINGER_SECONDS:
                await asyncio.sleep(TICK_SECONDS)
                ticks += 1
                self._tell(observed, ticks)
                if len(self._readers):
                    looked_at = self._clock()
        finally:
            self._observed, self._task, self._state = None, None, b""
            self._readers.end()
            observed.end()

    def _tell(self, observed: Observed, ticks: int) -> None:
        """The last that is told is how things stand, so that a page knows why its stream ends."""
        over = self._over()
        stated = over or ticks % STATE_TICKS == 0
        observed.tick()
        calls = b"".join(event("call", each) for each in observed.calls())
        if stated:
            self._state = event("state", observed.state())
        beat = BEAT if ticks % BEAT_TICKS == 0 else b""
        self._readers.tell(self._state if stated else b"", calls + beat)
        if over:
            self._readers.end()


def event(name: str, data: Json) -> bytes:
    """One of the stream (HTML, section 9.2.6). JSON as it is written here has no line ends in it."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), to_json(data, inf_nan_mode="null"))


FINISH_SECONDS = 0.5
LOOK_SECONDS = 5.0
"""How often it is asked whether a token still proves its holder."""
FULL = f"{MOST_PAGES} pages are open, which is all that this server shows. Close one."
May = Callable[[Scope], Awaitable[bool]]


class Streams:
    """`still_may` tells whether who opened one would be let in now."""

    def __init__(self, readers: Readers, teller: Teller, still_may: May) -> None:
        self._readers, self._teller, self._still_may = readers, teller, still_may
        self._closed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        reader = Reader(holder=holder_of(scope))
        try:
            if self._closed:
                raise NoRoom
            self._readers.join(reader)
        except NoRoom:
            await busy(FULL)(scope, receive, send)
            return
        try:
            self._teller.greet(reader)
            await self._serve(reader, scope, receive, send)
        finally:
            self._readers.leave(reader)

    async def close_all(self) -> None:
        self._closed = True
        await self._readers.ended(FINISH_SECONDS)
        await self._teller.aclose()

    async def _serve(self, reader: Reader, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        going = start_task(_until_gone(reader, receive), "ops-gone")
        try:
            with reader.scope:
                await self._tell(reader, scope, send)
        finally:
            going.cancel()
            await asyncio.gather(going, return_exceptions=True)
            with anyio.move_on_after(FINISH_SECONDS):  # whoever reads nothing does not read the end either
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, reader: Reader, scope: Scope, send: Send) -> None:
        looked_at = time.monotonic()
        while said := await reader.take():
            await send({"type": "http.response.body", "body": said, "more_body": True})
            if time.monotonic() - looked_at >= LOOK_SECONDS:
                looked_at = time.monotonic()
                if not await self._still_may(scope):
                    return


async def _until_gone(reader: Reader, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    reader.end()
    reader.scope.cancel()
