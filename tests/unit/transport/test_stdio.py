"""Stdio limits what it keeps for a parent that sends calls and takes no answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

import server.transport.stdio as module
from server.transport.stdio import MOST_OPEN, OpenCalls, ReadStream
from tests.support.virtual_time import running_clock


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


@pytest.mark.virtual_time
async def test_calls_alone_are_waited_for_and_one_ends_with_its_answer_or_cancellation() -> None:
    """Then there is a moment for the last line to be written, and half a second for the SDK to end."""
    calls, stop = OpenCalls(), asyncio.Event()
    clock = running_clock()

    def request(number: int | str, method: str = "tools/call") -> SessionMessage:
        return SessionMessage(types.JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params={}))

    def note(method: str, number: object) -> SessionMessage:
        return SessionMessage(types.JSONRPCNotification(jsonrpc="2.0", method=method, params={"requestId": number}))

    async def none() -> AsyncIterator[SessionMessage]:
        for each in ():
            yield each

    for each in (request(1, "tools/list"), request(2, "a"), request(3, "z"), Exception(), note("tools/call", 1)):
        calls.note_read(each)
    assert calls._open == set()
    for number in (1, "1", 2, 3):
        calls.note_read(request(number))
    for each in (note("notifications/cancelled", 1), note("notifications/progress", 2), note("notifications/cancelled", [])):
        calls.note_read(each)
    calls.note_written(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=2, error=types.ErrorData(code=1, message=""))))
    calls.note_written(note("notifications/message", 3))
    assert calls._open == {"1", 3}
    asyncio.get_running_loop().call_later(1.0, calls._open.clear)
    began = clock()
    assert [each async for each in ReadStream(none(), calls, 3.0, stop)] == []
    assert (clock() - began, calls.has_ended, stop.is_set()) == (pytest.approx(1.05, abs=0.011), True, False)
    ended = clock()
    await stop.wait()
    assert clock() - ended == pytest.approx(0.5)
    calls.note_read(request(4))
    began = clock()
    await calls.wait_answered(3.0)
    assert clock() - began == pytest.approx(3.0), "without the moment: no answer will be written"
