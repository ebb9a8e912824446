"""What is told to all who look, once for all of them: each second the figures, twice a second the calls that have come."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

from pydantic_core import to_json

from server.ops.readers import Reader, Readers
from session.resilience.clocks import Clock
from session.resilience.tasks import start_task

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
