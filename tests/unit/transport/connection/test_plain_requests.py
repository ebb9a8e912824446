"""The fast C parser and h11 with our bounds read the same requests, and refuse the same."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from server.transport.http.bodies import MOST_HEADERS
from server.transport.http.connection import MOST_CHUNKS, MOST_HEAD_BYTES, Connections, HttpConnection
from tests.support.wire import connected, rounds

pytest.importorskip("httptools", reason="httptools is not installed: h11 reads all requests here")

from server.transport.http.connection import PlainRequests
from tests.support.cases import cases

GET = b"GET / HTTP/1.1\r\nHost: h\r\n"
POST = b"POST /a%20b?x=1?2 HTTP/1.1\r\nHost: h \r\n"
WHOLE = POST + b"Content-Length: 3\r\n\r\nabc"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"

PLAIN = {
    "a body": [WHOLE],
    "one after another": [WHOLE, WHOLE, GET + b"\r\n"],
    "a body in pieces": [WHOLE[:-3], b"a", b"bc"],
    "the next one behind the rest of a body": [WHOLE[:-2], b"bc" + GET + b"\r\n"],
    "odd values": [GET + b"x: \xe9\t b \r\ny:\r\nContent-Length:\t0 \r\n\r\n"],
    "two slashes": [b"GET //a/b HTTP/1.1\r\nHost: a\r\n\r\n"],
    "odd signs in an address": [b'GET /"<>^`{|} HTTP/1.1\r\nHost: a\r\n\r\n'],
    "the last one": [GET + b"Connection: close\r\n\r\n"],
    "kept alive": [GET + b"Connection: keep-alive\r\nKeep-Alive: 5\r\n\r\n"],
}
OTHERS = {
    "behind each other": [WHOLE * 3],
    "many behind each other": [(GET + b"\r\n") * 30],
    "a head in pieces": [WHOLE[:20], WHOLE[20:]],
    "folded": [POST + b"a: b\r\n c\r\n\r\n"],
    "folded by a tab": [POST + b"a:\r\n\tc\r\n\r\n"],
    "lines without a return": [GET.replace(b"\r", b"") + b"\n"],
    "one such line": [POST + b"a: b\nc: d\r\n\r\n"],
    "a return within": [POST + b"a: b\rc: d\r\n\r\n"],
    "a zero byte": [POST + b"a: b\0\r\n\r\n"],
    "a space before the colon": [POST + b"a : c\r\n\r\n"],
    "no name": [POST + b": c\r\n\r\n"],
    "a name that is no token": [POST + b"a\xe9: b\r\n\r\n"],
    "a length twice": [POST + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"],
    "two lengths": [POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc"],
    "lengths in one line": [POST + b"Content-Length: 3, 3\r\n\r\nabc"],
    "a length with a sign": [POST + b"Content-Length: +3\r\n\r\nabc"],
    "a length in hexadecimal": [POST + b"Content-Length: 0x3\r\n\r\nabc"],
    "a length with an underscore": [POST + b"Content-Length: 0_3\r\n\r\nabc"],
    "no length": [POST + b"Content-Length: \r\n\r\n"],
    "a length beyond all": [POST + b"Content-Length: 99999999999999999999999\r\n\r\nabc"],
    "chunks": [CHUNKED + b"3\r\nabc\r\n0\r\n\r\n"],
    "chunks with a trailer": [CHUNKED + b"0\r\nAuthorization: Bearer x\r\n\r\n"],
    "too many chunks": [CHUNKED + b"1\r\nx\r\n" * (MOST_CHUNKS + 1)],
    "chunks and a length": [POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    "another encoding": [POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
    "an upgrade with a body": [POST + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc"] * 2,
    "a tunnel": [b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"],
    "an expectation": [POST + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n", b"abc"],
    "no host": [b"GET / HTTP/1.1\r\n\r\n"],
    "two hosts": [GET + b"Host: a\r\n\r\n"],
    "an older version": [b"GET / HTTP/1.0\r\nHost: a\r\n\r\n"],
    "a version that is not there": [b"GET / HTTP/2.0\r\nHost: a\r\n\r\n"],
    "another protocol": [b"SOURCE / ICE/1.0\r\nHost: a\r\n\r\n"],
    "a whole address": [b"GET http://x/a HTTP/1.1\r\nHost: a\r\n\r\n"],
    "a fragment": [b"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"],
    "a method of its own": [b"FOO / HTTP/1.1\r\nHost: a\r\n\r\n"],
    "two blanks": [b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n"],
    "a blank line before": [b"\r\n" + GET + b"\r\n"],
    "two blank lines before": [b"\r\n\r\n" + GET + b"\r\n"],
    "a control in the address": [b"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n"],
    "an address that is not ASCII": [b"GET /\xe9 HTTP/1.1\r\nHost: a\r\n\r\n"],
    "blank lines and nothing more": [b"\r\n\r\n"],
    "blank lines before a part of a head": [b"\r\n\r\n" + GET + b"x: ", GET + b"\r\n"],
    "such a part behind an answer": [GET + b"\r\n", b"\r\n\r\n" + GET + b"x: ", GET + b"\r\n"],
    "a length of too many digits": [POST + b"Content-Length: " + b"0" * 30 + b"3\r\n\r\nabc"],
    "a connection of a proxy's": [GET + b"Proxy-Connection: close\r\n\r\n", GET + b"\r\n"],
    "only a head": [GET.replace(b"GET", b"HEAD") + b"\r\n"],
    "too many headers": [GET + b"a: b\r\n" * (MOST_HEADERS + 5) + b"\r\n"],
    "too long a head": [GET + b"x: " + b"y" * (MOST_HEAD_BYTES * 2) + b"\r\n\r\n"],
    "a head without an end": [GET + b"x: " + b"y" * MOST_HEAD_BYTES],
    "no HTTP": [b"\x16\x03\x01\x02\x00\x01"],
}


@dataclass
class Heard:
    """What an application was told, what its client read, and whether the connection was closed."""

    requests: list[Any] = field(default_factory=list)
    statuses: list[bytes] = field(default_factory=list)
    closed: bool = False
    plain: bool = True


async def heard(made: type[PlainRequests] | type[HttpConnection], pieces: list[bytes]) -> Heard:
    told = Heard()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        told.requests.append((scope, body, message["type"]))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    wire = connected(made, app, Connections(10))
    for piece in pieces:
        wire.protocol.data_received(piece)
        await rounds()
    for _ in range(12):
        await rounds()
    told.statuses, told.closed = re.findall(rb"HTTP/1.1 \d+", wire.written), wire.closed
    told.plain = isinstance(wire.protocol, PlainRequests)
    return told


@cases("case", [*PLAIN, *OTHERS])
async def test_fast_and_strict_parser_read_the_same_requests(case: str) -> None:
    pieces = (PLAIN | OTHERS)[case]
    quick, slow = await heard(PlainRequests, pieces), await heard(HttpConnection, pieces)
    assert quick.requests == slow.requests
    assert (quick.statuses, quick.closed) == (slow.statuses, slow.closed)
    assert quick.plain == (case in PLAIN)


async def test_fast_and_strict_parser_agree_on_damaged_requests() -> None:
    """Bytes of valid requests are removed, inserted, changed or doubled, and sent in two pieces."""
    chance = random.Random(15)  # noqa: S311
    plain = 0
    for _ in range(1500):
        data = bytearray(b"".join(chance.choice([*PLAIN.values(), *OTHERS.values()][:45])))
        for _ in range(chance.randint(0, 2)):
            place = chance.randrange(min(len(data), 200))
            data[place : place + chance.randint(0, 2)] = chance.choice(
                [b"", b"\r\n", b" ", b"\n", b":", b"0", b"\0", b"Host: h\r\n"]
            )
        end = chance.choice([0, 0, 0, chance.randrange(len(data) + 1)])
        pieces = [bytes(data[:end]), bytes(data[end:])] if 0 < end < len(data) else [bytes(data)]
        quick, slow = await heard(PlainRequests, pieces), await heard(HttpConnection, pieces)
        assert (quick.requests, quick.statuses, quick.closed) == (slow.requests, slow.statuses, slow.closed), pieces
        plain += quick.plain
    assert plain > 80
