"""One client over stdin and stdout: JSON lines on stdout, logs on stderr, the end at EOF or on a signal.

Either way the calls that were asked for before the end are answered first. A parent that takes no answers is not waited for.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import redirect_stdout, suppress
from types import TracebackType
from typing import Any, BinaryIO

import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic_core import from_json

from server.transport.messages import NoBatch, excess, has_batches, is_array, refused, split

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


logger = logging.getLogger(__name__)
MOST_OPEN = 1000
"""Calls that a parent may have unanswered; no more is read until it has taken some answers."""
UNREAD_SECONDS = 30.0
"""How long a parent may take none of them, before it is taken for one that never will."""
LAST_LINE_SECONDS = 0.05
"""What the thread that writes gets for an answer it has just been handed."""
FAREWELL_SECONDS = 0.5
"""What the SDK gets to end by itself after the last answer: it waits for that to be taken, however long it takes."""


class OpenCalls:
    """The tool calls that were read and not yet answered. `ended` once nothing more will be read."""

    def __init__(self) -> None:
        self.ended = False
        self._open: set[types.RequestId] = set()
        self._none = asyncio.Event()
        self._none.set()
        self._room = asyncio.Event()
        self._room.set()

    def read(self, item: SessionMessage | Exception) -> None:
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, types.JSONRPCRequest) and message.method == "tools/call":
            self._open.add(message.id)
            self._none.clear()
            if len(self._open) >= MOST_OPEN:
                self._room.clear()
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._over((message.params or {}).get("requestId"))

    def written(self, item: SessionMessage) -> None:
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self._over(item.message.id)

    async def room(self, seconds: float) -> bool:
        """Waits for it, at most so long."""
        if not self._room.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._room.wait()
        return self._room.is_set()

    async def all_answered(self, seconds: float) -> None:
        """Waits for that, at most so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._none.wait()
        except TimeoutError:
            return
        await asyncio.sleep(LAST_LINE_SECONDS)

    def _over(self, number: Any) -> None:
        if isinstance(number, str | int):
            self._open.discard(number)
        if len(self._open) < MOST_OPEN:
            self._room.set()
        if not self._open:
            self._none.set()


class ReadStream:
    """The SDK's stream of what was read, whose end waits for the answers: the SDK cancels what is under way there. `stop` is
    set when it then does not end."""

    def __init__(self, inner: Any, calls: OpenCalls, seconds: float, stop: asyncio.Event) -> None:
        self._inner, self._calls, self._seconds, self._stop = inner, calls, seconds, stop

    @property
    def last_context(self) -> Any:
        return self._inner.last_context

    async def receive(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = await self._inner.receive()
        self._calls.read(item)
        return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> ReadStream:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        if not await self._calls.room(UNREAD_SECONDS):
            logger.error(
                "%d answers wait and the parent has taken none for %d s: this is the end", MOST_OPEN, UNREAD_SECONDS
            )
            self._end()
            raise StopAsyncIteration
        try:
            item: SessionMessage | Exception = await anext(self._inner)
        except StopAsyncIteration:
            await self._calls.all_answered(self._seconds)
            self._end()
            raise
        self._calls.read(item)
        return item

    def _end(self) -> None:
        self._calls.ended = True
        asyncio.get_running_loop().call_later(FAREWELL_SECONDS, self._stop.set)

    async def __aenter__(self) -> ReadStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        await self.aclose()
        return None


class WriteStream(ReadStream):
    """The SDK's stream of what is written."""

    async def send(self, item: SessionMessage, /) -> None:
        await self._inner.send(item)
        self._calls.written(item)

    async def __aenter__(self) -> WriteStream:
        return self


async def talk(mcp: Server[Any], lines: BoundedLines, calls: OpenCalls, seconds: float, stop: asyncio.Event) -> None:
    """Holds one conversation over stdin and stdout, until either ends."""
    batched = BatchedLines(lines)
    # What is printed by mistake goes to stderr, where the SDK would send it too, but without waiting for a reader.
    async with stdio_server(stdin=batched) as (read, write):  # type: ignore[arg-type]  # an iterator of lines is all it is asked for
        with redirect_stdout(sys.stderr):
            reading, writing = ReadStream(read, calls, seconds, stop), WriteStream(write, calls, seconds, stop)

            async def answer(error: types.JSONRPCError) -> None:
                await writing.send(SessionMessage(error))

            async def refuse(sentence: str) -> None:
                await answer(refused(sentence))

            lines.refuse, batched.answer = refuse, answer
            await mcp.run(reading, writing, mcp.create_initialization_options())
