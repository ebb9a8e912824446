"""stdin, a message a line, as the SDK's stdio transport takes it: bounded, which the SDK's own is not."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import BinaryIO

import anyio.to_thread

from server.transport.message_shape import excess

Refuse = Callable[[str], Awaitable[None]]


class BoundedLines:
    """Lines of at most `most` bytes, and with no more in them than a message may hold. `refuse` is told why another one is
    passed over; it is set by whoever knows how to say so."""

    def __init__(self, source: BinaryIO, most: int) -> None:
        self._source = source
        self._most = most
        self.refuse: Refuse | None = None

    def __aiter__(self) -> BoundedLines:
        return self

    async def __anext__(self) -> str:
        while line := await anyio.to_thread.run_sync(self._source.readline, self._most + 1):
            if (wrong := await self._wrong(line)) is None:
                return line.decode("utf-8", "replace")
            if self.refuse is not None:
                await self.refuse(wrong)
        raise StopAsyncIteration

    async def _wrong(self, line: bytes) -> str | None:
        if len(line) <= self._most:
            return excess(line)
        while line and not line.endswith(b"\n"):
            line = await anyio.to_thread.run_sync(self._source.readline, self._most)
        return f"A message has at most {self._most} bytes."


def private_stdin() -> BinaryIO:
    """Opens stdin under a descriptor of its own, and nothing where it was: a child that inherits that takes no lines."""
    own = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(own, "rb", closefd=False)
