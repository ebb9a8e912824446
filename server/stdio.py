"""One client over stdin and stdout: JSON lines on stdout, logs on stderr, the end at EOF or on a signal.

Either way the calls that were asked for before the end are answered first.
"""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Any

import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from server.lines import BoundedLines, private_stdin
from server.settings import Settings
from server.signals import first_of, on_signals
from server.wiring import Application, open_app

LAST_LINE_SECONDS = 0.05
"""What the thread that writes gets for an answer it has just been handed."""


class OpenCalls:
    """The tool calls that were read and not yet answered."""

    def __init__(self) -> None:
        self._open: set[types.RequestId] = set()
        self._none = asyncio.Event()
        self._none.set()

    def read(self, item: SessionMessage | Exception) -> None:
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, types.JSONRPCRequest) and message.method == "tools/call":
            self._open.add(message.id)
            self._none.clear()
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._over((message.params or {}).get("requestId"))

    def written(self, item: SessionMessage) -> None:
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self._over(item.message.id)

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
        if not self._open:
            self._none.set()


class _Reading:
    """The SDK's stream of what was read, whose end waits for the answers: the SDK cancels what is under way there."""

    def __init__(self, inner: Any, calls: OpenCalls, seconds: float) -> None:
        self._inner, self._calls, self._seconds = inner, calls, seconds

    @property
    def last_context(self) -> Any:
        return self._inner.last_context

    async def receive(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = await self._inner.receive()
        self._calls.read(item)
        return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> _Reading:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await anext(self._inner)
        except StopAsyncIteration:
            await self._calls.all_answered(self._seconds)
            raise
        self._calls.read(item)
        return item

    async def __aenter__(self) -> _Reading:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        await self.aclose()
        return None


class _Writing(_Reading):
    """The SDK's stream of what is written."""

    async def send(self, item: SessionMessage, /) -> None:
        await self._inner.send(item)
        self._calls.written(item)

    async def __aenter__(self) -> _Writing:
        return self


async def serve_stdio(settings: Settings) -> None:
    """Serves until stdin ends or a signal comes. The parent process is trusted to state the identity."""
    stop = asyncio.Event()
    on_signals(stop)
    calls, budget = OpenCalls(), settings.turn_budget_ms / 1000
    async with open_app(settings, local=True) as app:
        lines = BoundedLines(private_stdin(), settings.max_body_bytes)
        talking = asyncio.create_task(_talk(app, lines, calls, budget), name="stdio")
        await first_of(talking, stop)
        if talking.done():
            talking.result()
        else:
            await calls.all_answered(budget)
    if not talking.done():
        os._exit(0)  # a thread still waits for a line of stdin, and the interpreter would wait for it


async def _talk(app: Application, lines: BoundedLines, calls: OpenCalls, seconds: float) -> None:
    mcp = app.protocol.mcp
    async with stdio_server(stdin=lines) as (read, write):  # type: ignore[arg-type]  # an iterator of lines is all it is asked for
        reading, writing = _Reading(read, calls, seconds), _Writing(write, calls, seconds)

        async def refuse(sentence: str) -> None:
            error = types.ErrorData(code=types.INVALID_REQUEST, message=sentence)
            await writing.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=error)))

        lines.refuse = refuse
        await mcp.run(reading, writing, mcp.create_initialization_options())
