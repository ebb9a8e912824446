"""A server where DynamoDB should be, which answers as a test tells it to: late, wrongly, by halves or not at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Request = dict[str, Any]
"""The JSON of a call."""


@dataclass(frozen=True)
class Answer:
    """One HTTP answer. `cut` sends only that many bytes of the body and closes; `drip` pauses after every byte."""

    body: bytes = b"{}"
    status: int = 200
    cut: int | None = None
    drip: float = 0.0

    @classmethod
    def json(cls, value: object, status: int = 200) -> Answer:
        return cls(json.dumps(value).encode(), status)

    @classmethod
    def error(cls, code: str, status: int = 400, message: str = "") -> Answer:
        said = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message}
        return cls.json(said, status)


class HangUp(Exception):
    """Raised by a behaviour to close the connection without a word."""


async def never() -> Answer:
    """A behaviour's way not to answer."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


Behaviour = Callable[[Request], Answer | Awaitable[Answer]]


@dataclass
class WrongDynamo:
    """`requests` are the calls that came in; `gone` counts connections that the client closed before it was answered."""

    behaviour: Behaviour
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    gone: int = 0
    left: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"dynamodb://ap-northeast-1?endpoint=http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(HangUp, ConnectionError, asyncio.IncompleteReadError):
                while True:
                    await self._one(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests.append(json.loads(body or b"{}"))
        self.operations.append(headers.get("x-amz-target", "").rpartition(".")[2])
        self.arrived.set()
        answer = await self._unless_client_leaves(self.behaviour(self.requests[-1]), reader)
        writer.write(f"HTTP/1.1 {answer.status} X\r\ncontent-length: {len(answer.body)}\r\n\r\n".encode())
        for start in range(0, len(answer.body), 1) if answer.drip else ():
            writer.write(answer.body[start : start + 1])
            await writer.drain()
            await self._unless_client_leaves(asyncio.sleep(answer.drip, answer), reader)
        if not answer.drip:
            writer.write(answer.body[: answer.cut])
            await writer.drain()
        if answer.cut is not None:
            raise HangUp

    async def _unless_client_leaves(self, answer: Answer | Awaitable[Answer], reader: asyncio.StreamReader) -> Answer:
        if isinstance(answer, Answer):
            return answer
        answering, leaving = asyncio.ensure_future(answer), asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                return answering.result()
            self.gone += 1
            self.left.set()
            raise HangUp
        finally:
            for each in (answering, leaving):
                each.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)


@asynccontextmanager
async def wrong_dynamodb(behaviour: Behaviour) -> AsyncIterator[WrongDynamo]:
    """The server, on a free port, until the block ends."""
    wrong = WrongDynamo(behaviour)
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(wrong.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    wrong.port = server.sockets[0].getsockname()[1]
    try:
        yield wrong
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
