"""Whose message is next, when more come than can be worked on at once."""

from __future__ import annotations

import asyncio
from collections import Counter, deque

from starlette.types import ASGIApp, Receive, Scope, Send

from server.transport.http.bounds.holders import holder_of

AT_ONCE = 6
"""Of one holder. Calls that go on together share trips to Redis and looks at the sockets: one by one, each would cost half
as much again. Each of them is a millisecond or two that the others wait."""


class FairQueue:
    """In each round of the event loop a few messages of each holder go on, in the order in which they came; the others wait.
    So whoever sends hundreds at once waits for them alone, and somebody with one for one (fair queueing; Nagle, RFC 970;
    Demers, Keshav and Shenker, SIGCOMM 1989). Who is alone loses nothing: a round is as short as what is done in it."""

    def __init__(self) -> None:
        self._gone_on: Counter[str] = Counter()
        """In this round, of each holder."""
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def next(self, holder: str) -> None:
        """Returns when a message of this holder may go on."""
        loop = asyncio.get_running_loop()
        if not self._gone_on:
            loop.call_soon(self._end_round)
        if self._gone_on[holder] < AT_ONCE:
            self._gone_on[holder] += 1
            return
        mine = loop.create_future()
        self._waiting.setdefault(holder, deque()).append(mine)
        await mine

    def _end_round(self) -> None:
        self._gone_on.clear()
        for holder in list(self._waiting):
            self._let_on(holder, self._waiting[holder])
        if self._gone_on:
            asyncio.get_running_loop().call_soon(self._end_round)

    def _let_on(self, holder: str, waiting: deque[asyncio.Future[None]]) -> None:
        """Lets on the first of those that have not left."""
        while waiting and self._gone_on[holder] < AT_ONCE:
            first = waiting.popleft()
            if not first.done():
                first.set_result(None)
                self._gone_on[holder] += 1
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
