"""An answer on its way here from the process that holds the session."""

from __future__ import annotations

import asyncio
from collections import deque

from server.transport.relay.frames import Part
from server.transport.relay.post import Unreached

MOST_UNREAD_BYTES = 2**20
"""What may wait for a client that does not read, beyond what its socket has taken; then its answer is cut."""


class Lost(Exception):
    """The rest of an answer does not come."""


class Answer:
    """Its parts in their order, each once, however they come."""

    def __init__(self, owner: str, patience_seconds: float) -> None:
        """`patience_seconds` is how long its beginning is waited for."""
        self.owner = owner
        self._patience_seconds = patience_seconds
        self._parts: deque[Part] = deque()
        self._next = 0
        self._unread_bytes = 0
        self._lost = False
        self._whole = False
        self._news = asyncio.Event()

    @property
    def unfinished(self) -> bool:
        """Whether its owner may still be at it."""
        return not self._whole

    def take(self, part: Part) -> None:
        if self._lost or part.order < self._next:
            return  # what was said again because nobody knew whether it had come
        if part.order > self._next or self._unread_bytes > MOST_UNREAD_BYTES:
            self.lose()
            return
        self._next += 1
        self._whole = not part.more
        self._unread_bytes += len(part.body)
        self._parts.append(part)
        self._news.set()

    def lose(self) -> None:
        self._lost = True
        self._news.set()

    async def first(self) -> Part:
        """Raises `Lost`, and `Unreached` where it has not come in time."""
        try:
            async with asyncio.timeout(self._patience_seconds):
                return await self.part()
        except TimeoutError:
            raise Unreached from None

    async def part(self) -> Part:
        """The next one. Raises `Lost`."""
        while not self._parts:
            if self._lost:
                raise Lost
            self._news.clear()
            await self._news.wait()
        part = self._parts.popleft()
        self._unread_bytes -= len(part.body)
        return part
