"""The fast C parser waits like h11: for answers, for readers, for the rest of a request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from server.transport.http.connection import ANSWER_SECONDS, REQUEST_SECONDS, TOO_SLOW, Connections
from tests.support.clocks import HandClock
from tests.support.wire import connected, rounds
from tests.support.written import Written

pytest.importorskip("httptools", reason="httptools is not installed: h11 reads all requests here")

from server.transport.http.connection import PlainRequests
from tests.support.cases import cases

GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: h\r\n"
WHOLE = POST + b"Content-Length: 3\r\n\r\nabc"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


class Unread(Written):
    """To a client that reads nothing: what is written stays, once the system's buffers, of `room` bytes, are full."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room
        self.full = False

    def write(self, data: Any) -> None:
        super().write(data)
        if len(self.written) > self._room and not self.full:
            self.full = True  # said once, as by asyncio's transports
            self.protocol.pause_writing()

    def abort(self) -> None:
        self.closed = True


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"100")]})
    await send({"type": "http.response.body", "body": b"x" * 100})


async def test_pipelined_request_waits_for_the_answer_to_the_first() -> None:
    """The request is held, and reading is paused meanwhile."""
    may_answer, order = asyncio.Event(), []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        order.append("asked")
        await may_answer.wait()
        order.append("answered")
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    wire = connected(PlainRequests, app, Connections(10))
    wire.protocol.data_received(GET)
    await rounds()
    wire.protocol.data_received(GET)
    await rounds()
    assert order == ["asked"]
    may_answer.set()
    await rounds()
    assert order == ["asked", "answered", "asked", "answered"]


@cases("begun", [b"", WHOLE[:30], WHOLE[:-1], CHUNKED + b"3\r\na"])
async def test_request_timeout_counts_from_the_connection_on_either_parser(begun: bytes) -> None:
    """Handing the connection to the other parser does not restart the timeout."""
    clock = HandClock()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()

    connections = Connections(10, clock)
    wire = connected(PlainRequests, app, connections)
    clock.advance(REQUEST_SECONDS - 1)
    if begun:
        wire.protocol.data_received(begun)
    connections.close_overdue()
    assert not wire.closed
    clock.advance(2)
    connections.close_overdue()
    assert wire.closed
    assert wire.written == (TOO_SLOW if begun else b"")
    wire.protocol.connection_lost(None)
    assert len(connections) == 0


@cases("behind", [GET * 30, CHUNKED + b"0\r\n\r\n" + GET * 30])
async def test_unread_connection_gets_no_further_answers_after_a_parser_hand_over(behind: bytes) -> None:
    """Answers to pipelined requests, some hundred times as large, would pile up; its timeout goes on."""
    clock = HandClock()
    connections = Connections(10, clock)
    wire = Unread(room=100)  # full with the body of the first answer
    connected(PlainRequests, answer, connections, wire)
    wire.protocol.data_received(GET)
    await rounds()
    assert wire.full
    written = len(wire.written)
    clock.advance(ANSWER_SECONDS - 1)
    wire.protocol.data_received(behind)
    for _ in range(12):
        await rounds()
    assert not isinstance(wire.protocol, PlainRequests)
    assert len(wire.written) == written
    clock.advance(2)
    connections.close_overdue()
    assert wire.closed
    wire.protocol.connection_lost(None)
    await rounds()
