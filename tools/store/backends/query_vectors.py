"""Vectors of queries: embedded once, kept, and never waited for at length."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.failures import Failure
from tools.store.ports import Embedder

Floats = NDArray[np.float32]
PATIENCE = 0.3
CALL_SECONDS = 2.0
KEPT = 2_048
MOST_ALONE = 16
NOT_AGAIN_SECONDS = 1.0
MOST_FAILED = 256


@dataclass(slots=True)
class _Call:
    """A text that is being embedded, and how many wait for it."""

    task: asyncio.Task[Floats | None]
    waiting: int = 0


class QueryVectors:
    """What one embedder makes of queries, the latest 2,048 of them kept. `aclose` it before the embedder.

    Searches for the same text share one call, which has a bound of its own: a model far away answers a cold query later
    than a search would wait. It goes on when the last of them has left, so that the same query a moment later has its
    vector; at most 16 calls do. A text that failed is not asked for again within a second.
    """

    def __init__(self, embedder: Embedder, clock: Clock = time.monotonic) -> None:
        self._embedder, self._clock = embedder, clock
        self._kept: Lru[str, Floats] = Lru(KEPT)
        self._failed: Lru[str, float] = Lru(MOST_FAILED)
        self._calls: dict[str, _Call] = {}
        self._closed = False

    async def of(self, text: str, deadline: Deadline) -> Floats | None:
        """The vector, not to be written to; None when there is none within 0.3 s, and half of what is left."""
        if (kept := self._kept.use(text)) is not None:
            return kept
        if self._closed or self._clock() < (self._failed.peek(text) or 0.0):
            return None
        call = self._calls.get(text) or self._begun(text)
        call.waiting += 1
        try:
            await asyncio.wait({call.task}, timeout=min(PATIENCE, deadline.remaining() / 2))
        finally:
            call.waiting -= 1
            if not call.waiting and sum(not each.waiting for each in self._calls.values()) > MOST_ALONE:
                call.task.cancel()
        return call.task.result() if call.task.done() and not call.task.cancelled() else None

    async def aclose(self) -> None:
        """Ends what is under way; those who wait for it have no vector."""
        self._closed = True
        tasks = [call.task for call in self._calls.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begun(self, text: str) -> _Call:
        call = self._calls[text] = _Call(asyncio.create_task(self._embed(text), name="vector of a query"))
        call.task.add_done_callback(lambda _: self._calls.pop(text))
        return call

    async def _embed(self, text: str) -> Floats | None:
        vector = await self._answered(text)
        if vector is None:
            self._failed.put(text, self._clock() + NOT_AGAIN_SECONDS)
        else:
            self._kept.put(text, vector)
        return vector

    async def _answered(self, text: str) -> Floats | None:
        try:
            found = await self._embedder.embed([text], Deadline.after(CALL_SECONDS))
        except Failure:
            return None
        if found.shape != (1, self._embedder.dimensions) or not np.isfinite(found).all():
            return None
        vector: Floats = found[0].astype(np.float32)
        vector.setflags(write=False)
        return vector
