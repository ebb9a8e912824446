"""The stdio transport: one client, JSON lines on stdin and stdout, logs on stderr.

At EOF or a signal, the server first answers the calls that it has read, if the parent process reads the answers."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import redirect_stdout
from typing import Any, BinaryIO

import anyio.to_thread
import mcp_types as types
from anyio.abc import AsyncResource
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from server.transport.http.responses import wait_until_idle
from server.transport.messages import InvalidBatch, Posted, error_for, has_batches, is_array, reason_too_large, split_batch
from session.resilience.tasks import wait_for


class Lines:
    """An async iterable of the lines of `source`, each a message of at most `most` bytes. If the protocol version that was
    agreed, or first asked for, has `batches`, yields one line per message of a batch. Calls `answer` with the error for each
    refused message."""

    answer: Callable[[types.JSONRPCError], Awaitable[None]]
    """Must be set before the first line is read."""

    def __init__(self, source: BinaryIO, most: int) -> None:
        self._source = source
        self._most = most
        self.batches: bool | None = None

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await anyio.to_thread.run_sync(self._source.readline, self._most + 1):
            if (excess := await self._find_excess(line)) is not None:
                await self.answer(error_for(excess))
            elif self.batches and is_array(line):
                for message in await self._split(line):
                    yield message
            else:
                self._note_version(line)
                yield line.decode("utf-8", "replace")

    async def _find_excess(self, line: bytes) -> str | None:
        if len(line) <= self._most:
            return reason_too_large(line)
        while line and not line.endswith(b"\n"):
            line = await anyio.to_thread.run_sync(self._source.readline, self._most)
        return f"A message has at most {self._most} bytes."

    async def _split(self, line: bytes) -> list[str]:
        try:
            entries = split_batch(line)
        except InvalidBatch as invalid:
            entries = [error_for(str(invalid))]
        for entry in entries:
            if isinstance(entry, types.JSONRPCError):
                await self.answer(entry)
        return [entry.decode() for entry in entries if isinstance(entry, bytes)]

    def _note_version(self, line: bytes) -> None:
        posted = Posted.from_body(line) if self.batches is None and b'"initialize"' in line else None
        if posted is not None and posted.method == "initialize" and "protocolVersion" in posted.params:
            self.batches = has_batches(posted.params["protocolVersion"])


def private_stdin() -> BinaryIO:
    """Returns stdin on a new descriptor, and puts /dev/null at 0, so that child processes cannot read the messages."""
    own = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(own, "rb", closefd=False)


logger = logging.getLogger(__name__)
MOST_OPEN = 1000
"""Maximum unanswered calls; beyond it nothing is read until the parent has read some answers."""
UNREAD_SECONDS = 30.0
"""Seconds to wait, at `MOST_OPEN`, for the parent to read an answer. After them the conversation ends."""
FAREWELL_SECONDS = 0.5
"""Seconds in which the SDK should end after the last answer. The SDK waits until the parent has read that answer."""


class OpenCalls:
    """The tool calls that were read and are not answered yet. `has_ended` is True once no more messages will be read."""

    def __init__(self) -> None:
        self.has_ended = False
        self._open: set[types.RequestId] = set()
        self.has_room = asyncio.Event()
        self.has_room.set()

    def note_read(self, item: SessionMessage | Exception) -> None:
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, types.JSONRPCRequest) and message.method == "tools/call":
            self._open.add(message.id)
            if len(self._open) >= MOST_OPEN:
                self.has_room.clear()
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._discard((message.params or {}).get("requestId"))

    def note_written(self, item: SessionMessage) -> None:
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self._discard(item.message.id)

    def _discard(self, number: Any) -> None:
        if isinstance(number, str | int):
            self._open.discard(number)
        if len(self._open) < MOST_OPEN:
            self.has_room.set()

    async def wait_answered(self, seconds: float) -> None:
        if await wait_until_idle(lambda: bool(self._open), seconds):
            await asyncio.sleep(0.05)  # for the thread that writes the last answer


class ReadStream(AsyncResource):
    """Wraps the SDK's read stream. Delays its end by up to `seconds`, until all calls are answered, since at the end the
    SDK cancels running calls. Sets `stop` `FAREWELL_SECONDS` later, in case the SDK does not end."""

    def __init__(self, inner: Any, calls: OpenCalls, seconds: float, stop: asyncio.Event) -> None:
        self._inner, self._calls, self._seconds, self._stop = inner, calls, seconds, stop

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> ReadStream:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        if not await wait_for(self._calls.has_room, UNREAD_SECONDS):
            logger.error("%d answers wait and the parent has read none for %d s: ending", MOST_OPEN, UNREAD_SECONDS)
            self._end()
            raise StopAsyncIteration
        try:
            item: SessionMessage | Exception = await anext(self._inner)
        except StopAsyncIteration:
            await self._calls.wait_answered(self._seconds)
            self._end()
            raise
        self._calls.note_read(item)
        return item

    receive = __anext__

    def _end(self) -> None:
        self._calls.has_ended = True
        asyncio.get_running_loop().call_later(FAREWELL_SECONDS, self._stop.set)


class WriteStream(AsyncResource):
    """Wraps the SDK's write stream, and notes which calls are answered, and for `lines` the agreed protocol version."""

    def __init__(self, inner: Any, calls: OpenCalls, lines: Lines) -> None:
        self._inner, self._calls, self._lines = inner, calls, lines

    async def send(self, item: SessionMessage, /) -> None:
        if isinstance(item.message, types.JSONRPCResponse) and "protocolVersion" in item.message.result:
            self._lines.batches = has_batches(item.message.result["protocolVersion"])
        await self._inner.send(item)
        self._calls.note_written(item)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def serve_lines(mcp: Server[Any], lines: Lines, calls: OpenCalls, seconds: float, stop: asyncio.Event) -> None:
    """Serves one conversation until either side ends it. At the end, waits up to `seconds` for unanswered calls, and sets
    `stop` `FAREWELL_SECONDS` later."""
    # Stray prints go to `sys.stderr`, which never blocks. The SDK would send them to descriptor 2, which may block.
    async with stdio_server(stdin=lines) as (read, write):  # type: ignore[arg-type]  # it needs an iterator of lines only
        with redirect_stdout(sys.stderr):
            reading, writing = ReadStream(read, calls, seconds, stop), WriteStream(write, calls, lines)
            lines.answer = lambda error: writing.send(SessionMessage(error))
            await mcp.run(reading, writing, mcp.create_initialization_options())
