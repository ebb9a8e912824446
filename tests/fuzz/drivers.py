"""Those who send: each has a connection or a stream of its own, and takes inputs from its grammar until it is told to end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tests.fuzz.grammar import Grammar
from tests.fuzz.tally import Tally
from tests.support.raw import BOTH, INITIALIZE, INITIALIZED, VERSION_2025, Answer, Connection, ask, head, message
from tests.support.sse import SseClient

BATCH = 8
"""Requests in one go: pipelining."""
ANSWER_SECONDS = 30.0
SILENCE_SECONDS = 0.2
"""How long to listen for an answer to what may be no whole request."""
LOST = (ConnectionError, asyncio.IncompleteReadError, TimeoutError)
More = Callable[[], bool]
"""Takes one more input out of those that are left; False when there is none."""


async def stateless(port: int, grammar: Grammar, tally: Tally, more: More) -> None:
    """The 2026 era: whole requests, several in one go, each of which has to be answered."""
    number = 0
    while True:
        async with Connection.to(port) as connection:
            open_still = True
            while open_still:
                batch, size = [], grammar.random.randrange(1, BATCH + 1)
                while len(batch) < size and more():
                    number += 1
                    headers, body = grammar.in_2026(number)
                    batch.append((headers, body))
                    tally.sends("2026")
                if not batch:
                    return
                open_still = await _pipelined(grammar, port, connection, "2026", batch, tally)


async def sessions(port: int, grammar: Grammar, tally: Tally, more: More) -> None:
    """The 2025 era on Streamable HTTP: one session for some hundred messages, then another."""
    number = 0
    while True:
        async with Connection.to(port) as connection, _session(port, grammar.own) as session:
            open_still = True
            for _ in range(50):
                batch, size = [], grammar.random.randrange(1, BATCH + 1)
                while len(batch) < size and more():
                    number += 1
                    batch.append((grammar.altered(dict(session)), grammar.body(grammar.message(number))))
                    tally.sends("2025")
                if batch and open_still:
                    open_still = await _pipelined(
                        grammar, port, connection, "2025", batch, tally, own=session["mcp-session-id"]
                    )
                if not batch:
                    return
                if not open_still:
                    break


async def streams(port: int, grammar: Grammar, tally: Tally, more: More) -> None:
    """HTTP+SSE: messages posted in one go, their answers on the stream, which has to outlive them all."""
    number = 0
    while True:
        async with SseClient.to(port, grammar.own) as client, Connection.to(port) as posts:
            for _ in range(25):
                batch, size = [], grammar.random.randrange(1, BATCH + 1)
                while len(batch) < size and more():
                    number += 1
                    batch.append(({**BOTH, **grammar.own}, grammar.body(grammar.message(number))))
                    tally.sends("sse")
                if not batch:
                    return
                if not await _pipelined(grammar, port, posts, "sse", batch, tally, client.messages):
                    break
                sync = f"sync-{number}"
                try:
                    await client.post(message("ping", number=sync))
                    await client.answer_to(sync, ANSWER_SECONDS)
                except (AssertionError, *LOST) as error:
                    tally.objects(f"sse: the stream did not outlive {batch!r:.2000}: {error!r}")
                    break
                for each in client.heard:
                    if not str(each.get("id")).startswith("sync-"):
                        tally.heard("sse", each)
                client.heard.clear()


async def requests(port: int, grammar: Grammar, tally: Tally, more: More) -> None:
    """Any method, target and headers: whole requests, so that each is answered, or the connection closed on purpose."""
    while more():
        tally.sends("http")
        method, data = grammar.http()
        async with Connection.to(port) as connection:
            try:
                await connection.send(data)
                await _response(grammar, port, connection, "http", data, tally, method)
            except LOST as error:
                tally.objects(f"http: {error!r} instead of an answer to {data[:600]!r}")


async def raw_bytes(port: int, grammar: Grammar, tally: Tally, more: More) -> None:
    """Bytes, then a while of listening."""
    while more():
        tally.sends("bytes")
        data = grammar.bytes()
        async with Connection.to(port) as connection:
            try:
                async with asyncio.timeout(SILENCE_SECONDS):
                    await connection.send(data)
                    # A method that has no body in its answer cannot be told from the bytes.
                    answer = await connection.begin()
            except TimeoutError:
                tally.ended("bytes", "waits for more")
                continue
            except (ConnectionError, ValueError, IndexError):
                tally.ended("bytes", "hung up")
                continue
            tally.answered("bytes", answer, data)
            await _forget(grammar, port, answer)


DRIVERS: dict[Callable[[int, Grammar, Tally, More], Awaitable[None]], int] = {
    stateless: 4,
    sessions: 3,
    streams: 2,
    requests: 2,
    raw_bytes: 8,
}
"""How many there are of each. Together they make fewer calls at once than the server takes, so that no healthy one is shed."""


@asynccontextmanager
async def _session(port: int, own: dict[str, str]) -> AsyncIterator[dict[str, str]]:
    """The headers of a Streamable HTTP session, which is ended in the end."""
    opened = await ask(port, "POST", "/mcp", INITIALIZE, own)
    session = {**BOTH, **own, "mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
    await ask(port, "POST", "/mcp", INITIALIZED, session)
    try:
        yield session
    finally:
        await ask(port, "DELETE", "/mcp", headers=session)


async def _pipelined(
    grammar: Grammar,
    port: int,
    connection: Connection,
    kind: str,
    batch: list[tuple[dict[str, str], bytes]],
    tally: Tally,
    target: str = "/mcp",
    own: str | None = None,
) -> bool:
    """Sends all and reads an answer to each. False when the connection is no longer good."""
    asked = [head("POST", target, headers, len(body)) + body for headers, body in batch]
    sending = asyncio.create_task(connection.send(b"".join(asked)))
    try:
        for number, data in enumerate(asked):
            try:
                answer = await _response(grammar, port, connection, kind, data, tally, own=own)
            except LOST as error:
                tally.objects(f"{kind}: {error!r} instead of an answer to {data[:600]!r}")
                return False
            if answer.headers.get("connection") == "close":
                for _ in asked[number + 1 :]:
                    tally.ended(kind, "behind a closed connection")
                return False
        return True
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _response(
    grammar: Grammar,
    port: int,
    connection: Connection,
    kind: str,
    data: bytes,
    tally: Tally,
    method: str = "POST",
    own: str | None = None,
) -> Answer:
    async with asyncio.timeout(ANSWER_SECONDS):
        answer = await connection.begin()
        while answer.status < 200:
            answer = await connection.begin()
        asked_for_stream = method == "GET" or b"subscriptions/listen" in data
        endless = asked_for_stream and "event-stream" in answer.headers.get("content-type", "")
        if method != "HEAD" and not endless and not (method == "CONNECT" and answer.status < 300):
            await _body(connection, answer)
    tally.answered(kind, answer, data)
    await _forget(grammar, port, answer, own)
    return answer


async def _body(connection: Connection, answer: Answer) -> None:
    """Whole, however its end is told."""
    if "content-length" in answer.headers:
        answer.body = await connection.reader.readexactly(int(answer.headers["content-length"]))
    elif answer.headers.get("transfer-encoding") == "chunked":
        while (piece := await connection.chunk()) is not None:
            answer.body += piece
    elif answer.headers.get("connection") == "close" and answer.status not in (204, 304):
        answer.body = await connection.reader.read()


async def _forget(grammar: Grammar, port: int, answer: Answer, own: str | None = None) -> None:
    """A session that an initialize has opened by the way would stay for half an hour."""
    session = answer.headers.get("mcp-session-id")
    if session is not None and session != own:
        await ask(port, "DELETE", "/mcp", headers={**BOTH, **grammar.own, "mcp-session-id": session})
