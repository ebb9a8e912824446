"""The open streams, and what waits for each."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import anyio

from server.transport.http.bounds.slots import Slot, Slots

MOST = 8
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
    """At most `MOST`. Whoever proves to be one holder may have them all, and gives up one of them for another's first."""

    def __init__(self) -> None:
        self._slots: Slots[Reader] = Slots(MOST, math.inf, math.inf)
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
