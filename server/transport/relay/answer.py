"""An answer on its way here from the process that holds the session."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

from server.transport.relay.frames import Part
from server.transport.relay.post import Unreached

MOST_UNREAD_BYTES = 2**20
"""What may wait for a client that does not read, beyond what its socket has taken; then its answer is cut."""
LONGEST_SECONDS = 120.0
"""Twice what any call may take."""


class Lost(Exception):
    """The rest of an answer does not come."""


class Answer:
    """Its parts in their order, each once, however they come."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self._parts: deque[Part] = deque()
        self._next = 0
        self._unread_bytes = 0
        self._lost = False
        self._whole = False
        self._news = asyncio.Event()
        self._begun = asyncio.Event()

    @property
    def unfinished(self) -> bool:
        """Whether its owner may still be at it."""
        return not self._whole

    def taken(self) -> None:
        """Notes that its owner is at it."""
        self._begun.set()

    async def begun(self, seconds: float) -> bool:
        """Waits so long for a first sign that it was asked for, or that it does not come."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._begun.wait()
        return self._begun.is_set()

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
        self._begun.set()

    def lose(self) -> None:
        self._lost = True
        self._news.set()
        self._begun.set()

    async def first(self) -> Part:
        """The beginning of an answer that is on its way. Raises `Lost`, and `Unreached` where it has not come in time."""
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
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
