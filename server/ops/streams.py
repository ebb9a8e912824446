"""`/ops/events`: how a stream begins, is told, and ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import anyio
from starlette.types import Receive, Scope, Send

from server.ops.readers import MOST, Reader, Readers
from server.ops.teller import Teller
from server.transport.http.bounds.holders import holder_of
from server.transport.http.bounds.slots import NoRoom
from server.transport.http.responses import busy
from server.transport.http.sse.messages import HEADERS
from session.resilience.tasks import start_task

FINISH_SECONDS = 0.5
LOOK_SECONDS = 5.0
"""How often it is asked whether a token still proves its holder."""
FULL = f"{MOST} pages are open, which is all that this server shows. Close one."
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
