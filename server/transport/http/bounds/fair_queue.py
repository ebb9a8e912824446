"""Whose message is next, when more come than can be worked on at once."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, deque
from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from server.transport.http.bounds.holders import holder_of

AT_ONCE = 6
"""Of one holder. Calls that go on together share trips to Redis and looks at the sockets: one by one, each would cost half
as much again. Each of them is a millisecond or two that the others wait."""


STATED = tuple(
    re.compile(rb'"com\.mangaassist/%b"[ \t\r\n]{0,8}:[ \t\r\n]{0,8}"((?:[^"\\]|\\.){1,512})"' % name)
    for name in (b"userId", b"sessionId")
)
"""How a message states for which user, or else in which session, it is. In a text of JSON it cannot stand: there its quotes
are escaped."""
NAMED_IN_HEADERS = (b"x-user-id", b"x-session-id", b"mcp-session-id")


def customer_of(body: bytes | bytearray, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Tells for whom a message is, as far as it says so: enough to share out turns, and proof of nothing."""
    for stated in STATED:
        if found := stated.search(body):
            return found[1]
    said = {name: value for name, value in headers if name in NAMED_IN_HEADERS}
    return next((said[name] for name in NAMED_IN_HEADERS if name in said), b"")


class FairQueue:
    """In each round of the event loop a few messages of each holder go on, in the order in which they came; the others wait.
    So whoever sends hundreds at once waits for them alone, and somebody with one for one (fair queueing; Nagle, RFC 970;
    Demers, Keshav and Shenker, SIGCOMM 1989). Who is alone loses nothing: a round is as short as what is done in it. The
    customers of one holder take turns at what is its own."""

    def __init__(self) -> None:
        self._gone_on: Counter[str] = Counter()
        """In this round, of each holder."""
        self._waiting: dict[str, dict[bytes, deque[asyncio.Future[None]]]] = {}
        """Of each holder by its customers, the next of them first."""

    async def next(self, holder: str, customer: bytes = b"") -> None:
        """Returns when a message of this holder, for this customer of its, may go on."""
        loop = asyncio.get_running_loop()
        if not self._gone_on:
            loop.call_soon(self._end_round)
        if self._gone_on[holder] < AT_ONCE:
            self._gone_on[holder] += 1
            return
        mine = loop.create_future()
        self._waiting.setdefault(holder, {}).setdefault(customer, deque()).append(mine)
        await mine

    def _end_round(self) -> None:
        self._gone_on.clear()
        for holder in list(self._waiting):
            self._let_on(holder, self._waiting[holder])
        if self._gone_on:
            asyncio.get_running_loop().call_soon(self._end_round)

    def _let_on(self, holder: str, waiting: dict[bytes, deque[asyncio.Future[None]]]) -> None:
        """Lets on the first of those that have not left, one of each customer in turn."""
        while waiting and self._gone_on[holder] < AT_ONCE:
            customer = next(iter(waiting))
            theirs = waiting.pop(customer)
            first = theirs.popleft()
            if not first.done():
                first.set_result(None)
                self._gone_on[holder] += 1
            if theirs:
                waiting[customer] = theirs
        if not waiting:
            del self._waiting[holder]


class InFairQueue:
    """Each request that brings no message; those are let on once they are whole (`Bodies`). Whoever asks whether the process
    lives waits for nobody."""

    def __init__(self, app: ASGIApp, queue: FairQueue, but: str) -> None:
        """`but` is a path."""
        self._app = app
        self._queue = queue
        self._but = but

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "POST" and scope["path"] != self._but:
            await self._queue.next(holder_of(scope))
        await self._app(scope, receive, send)
