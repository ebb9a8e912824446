"""Stdio limits what it keeps for a parent that sends calls and takes no answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

import server.transport.stdio as module
from server.transport.stdio import MOST_OPEN, OpenCalls, ReadStream


async def questions() -> AsyncIterator[SessionMessage]:
    number = 0
    while True:
        number += 1
        yield SessionMessage(types.JSONRPCRequest(jsonrpc="2.0", id=number, method="tools/call", params={}))


def answer(number: int) -> SessionMessage:
    return SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=number, result={}))


async def test_reading_stops_at_the_limit_of_open_calls_until_answers_are_taken() -> None:
    """Each unanswered call takes memory."""
    calls = OpenCalls()
    reading = ReadStream(questions(), calls, 3.0, asyncio.Event())
    for _ in range(MOST_OPEN):
        await anext(reading)
    waiting = asyncio.create_task(anext(reading))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    assert not waiting.done()
    calls.note_written(answer(1))
    assert (await waiting).message.id == MOST_OPEN + 1  # type: ignore[union-attr]


async def test_parent_that_takes_no_answers_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNREAD_SECONDS", 0.0)
    monkeypatch.setattr(module, "FAREWELL_SECONDS", 0.0)
    calls, stop = OpenCalls(), asyncio.Event()
    reading = ReadStream(questions(), calls, 3.0, stop)
    for _ in range(MOST_OPEN):
        await anext(reading)
    with pytest.raises(StopAsyncIteration):
        await anext(reading)
    assert calls.has_ended
    await stop.wait()
