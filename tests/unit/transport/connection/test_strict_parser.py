"""Bounds that uvicorn and h11 lack, on one connection fed with bytes in one piece and without a socket."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
import pytest
import uvicorn
from uvicorn.server import ServerState

from server.transport.http.bodies import MOST_HEADERS
from server.transport.http.connection import (
    MOST_CHUNKS,
    MOST_HEAD_BYTES,
    Connections,
    HttpConnection,
    StrictParser,
)
from tests.support.cases import cases
from tests.support.written import Written

POST = b"POST /mcp HTTP/1.1\r\nhost: x\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\n"


async def told(data: bytes, answers: bool = False) -> tuple[Written, list[str]]:
    """What a connection says to `data`, and what its application was told. With `answers` it answers before it reads."""
    heard: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        heard.append(scope["type"])
        while not answers and (message := await receive())["type"] == "http.request" and message["more_body"]:
            pass
        if not answers:
            heard.append(message["type"])
        await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    config = uvicorn.Config(app, lifespan="off", log_config=None)
    config.load()
    wire = Written()
    connection = HttpConnection(config, ServerState(), {}, all_connections=Connections(10))
    connection.connection_made(wire)
    connection.data_received(data)
    for _ in range(5):
        await asyncio.sleep(0)
    if answers and len(data) > len(CHUNKED):
        connection.data_received(b"no chunk at all\r\n")
    return wire, heard


@cases(
    "order",
    [(b"content-length: 5\r\n", b"transfer-encoding: chunked\r\n")] * 1
    + [(b"transfer-encoding: chunked\r\n", b"Content-Length: 5\r\n")],
)
async def test_body_with_both_length_and_chunked_encoding_is_refused_and_the_connection_closed(
    order: tuple[bytes, bytes],
) -> None:
    """A proxy may go by the other of the two headers (RFC 9112, section 6.3: request smuggling)."""
    wire, heard = await told(POST + b"".join(order) + b"\r\n0\r\n\r\n")
    assert (wire.status, wire.closed, heard) == (400, True, [])
    assert b"exclude each other" in wire.written


async def test_chunked_body_beyond_the_chunk_limit_is_refused() -> None:
    """A chunk of one byte costs as much as two hundred bytes. The handler learns that the request is over."""
    wire, heard = await told(CHUNKED + b"1\r\nx\r\n" * MOST_CHUNKS + b"0\r\n\r\n")
    assert (wire.closed, heard) == (False, ["http", "http.request"])
    wire, heard = await told(CHUNKED + b"1\r\nx\r\n" * (MOST_CHUNKS + 1) + b"0\r\n\r\n")
    assert (wire.status, wire.closed) == (400, True)
    wire, heard = await told(CHUNKED + b"1\r\nx\r\n" * 40_000)
    assert (wire.status, wire.closed, heard) == (400, True, ["http", "http.disconnect"])


async def test_chunks_beyond_the_limit_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All the chunks arrive in one piece."""
    events = 0
    read = StrictParser.next_event

    def counted(parser: StrictParser) -> Any:
        nonlocal events
        events += 1
        return read(parser)

    monkeypatch.setattr(StrictParser, "next_event", counted)
    await told(CHUNKED + b"1\r\nx\r\n" * 100_000)
    assert events < MOST_CHUNKS + 50


@cases("end", [b"\r\n", b"\n"])
async def test_head_with_too_many_lines_is_refused_unparsed(end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """h11 takes three microseconds a line, and has no bound on lines that come in one piece."""
    head = b"GET / HTTP/1.1" + end + b"host: x" + end
    wire, heard = await told(head + (b"a: b" + end) * (MOST_HEADERS - 1) + end)
    assert heard[:1] == ["http"]
    wire, heard = await told(head + (b"a: b" + end) * MOST_HEADERS + end)
    assert (wire.status, wire.closed, heard) == (431, True, [])
    wire, heard = await told(head + (b"a: b" + end) * (MOST_HEADERS + 5) + end)
    assert (wire.status, wire.closed, heard) == (431, True, [])
    with monkeypatch.context() as patched:
        patched.setattr(h11.Connection, "next_event", lambda parser: pytest.fail("it was read"))
        await told(head + (b"a:" + end) * 2000 + end)


async def test_header_lines_are_counted_per_pipelined_request() -> None:
    """The count starts anew for each request."""
    wire, heard = await told(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" * 200)
    assert (wire.closed, heard[0]) == (False, "http")


@cases("data", [POST + b"x: " + b"y" * (MOST_HEAD_BYTES * 2), CHUNKED + b"0\r\n" + b"a: b\r\n" * 10_000])
async def test_oversized_head_or_trailer_in_one_piece_is_refused(data: bytes) -> None:
    """h11 alone bounds only incomplete heads."""
    wire, _ = await told(data + b"\r\n\r\n")
    assert (wire.status, wire.closed) == (400, True)


async def test_error_after_an_answer_only_closes_the_connection() -> None:
    """A malformed request behind an answered one gets no answer of its own."""
    wire, _ = await told(CHUNKED + b"1\r\nx\r\n", answers=True)
    assert wire.status == 401
    assert wire.written.count(b"HTTP/1.1") == 1
    assert wire.closed
