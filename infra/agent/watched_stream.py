"""SSE to the store with an ear on its stream: a connection that has ended is dialled again before a customer finds out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

from mcp.client.sse import sse_client

POST_SECONDS = 2.0
SILENCE_SECONDS = 20.0
"""The server sends something every 15 seconds. One that stays silent for longer is gone, though its socket is not."""


class WatchedStream:
    """The stream of answers, as the SDK reads it."""

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended

    def __aiter__(self) -> WatchedStream:
        return self

    async def __anext__(self) -> Any:
        try:
            got = await self._stream.__anext__()
        except BaseException:
            self._ended()
            raise
        if isinstance(got, Exception):  # the SDK passes on what broke the stream
            self._ended()
        return got

    async def __aenter__(self) -> WatchedStream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._ended()
        left: bool | None = await self._stream.__aexit__(kind, error, trace)
        return left

    def __getattr__(self, name: str) -> Any:  # what else the SDK asks of its own streams
        return getattr(self._stream, name)


@asynccontextmanager
async def watched_sse(url: str, ended: Callable[[], None]) -> AsyncIterator[tuple[Any, Any]]:
    """A transport for `MCPClient`; `ended` is called, once or more often, when nothing will come any more."""
    async with sse_client(url, timeout=POST_SECONDS, sse_read_timeout=SILENCE_SECONDS) as (read, write):
        yield WatchedStream(read, ended), write
