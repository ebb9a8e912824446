"""Refuses what would only queue: an answer that says "busy" at once is worth more than one that comes too late."""

from __future__ import annotations

import asyncio

from server.call import Call, Handler, Outcome
from tools.failures import ServerBusy

RETRY_AFTER_MS = 100


class Shed:
    """`under_way` counts the calls inside; `idle` is set while there is none."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.under_way = 0
        self.idle = asyncio.Event()
        self.idle.set()

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        if self.under_way >= self._most:
            raise ServerBusy("The server has as many calls as it can answer in time.", retry_after_ms=RETRY_AFTER_MS)
        self.under_way += 1
        self.idle.clear()
        try:
            return await inner(call)
        finally:
            self.under_way -= 1
            if not self.under_way:
                self.idle.set()
