"""Batches on stdio: a line of several messages becomes as many lines."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

import mcp_types as types
from pydantic_core import from_json

from server.transport.batches.split import NoBatch, has_batches, is_array, refused, split

INITIALIZE = "initialize"


class BatchedLines:
    """`inner` is bounded. `answer` says what answers an entry that is not served; it is set by whoever knows how to."""

    def __init__(self, inner: AsyncIterator[str]) -> None:
        self._inner = inner
        self._rest: deque[str] = deque()
        self._taken = False
        self.answer: Callable[[types.JSONRPCError], Awaitable[None]] | None = None

    def __aiter__(self) -> BatchedLines:
        return self

    async def __anext__(self) -> str:
        while not self._rest:
            line = await anext(self._inner)
            if not self._taken or not is_array(line.encode()):
                self._notice(line)
                return line
            await self._split(line.encode())
        return self._rest.popleft()

    async def _split(self, line: bytes) -> None:
        try:
            entries = split(line)
        except NoBatch as none:
            entries = [refused(str(none))]
        for entry in entries:
            if isinstance(entry, bytes):
                self._rest.append(entry.decode())
            elif self.answer is not None:
                await self.answer(entry)

    def _notice(self, line: str) -> None:
        """Notes whether the version that is agreed on has batches."""
        if f'"{INITIALIZE}"' not in line:
            return
        try:
            message = from_json(line)
        except ValueError:
            return
        params = message.get("params") if isinstance(message, dict) and message.get("method") == INITIALIZE else None
        if isinstance(params, dict):
            self._taken = has_batches(params.get("protocolVersion"))
