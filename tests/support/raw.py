"""HTTP and SSE by hand over asyncio streams: whatever a client may send, and exactly what came back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

WAIT_SECONDS = 10.0
VERSION_2025 = "2025-11-25"
VERSION_2026 = "2026-07-28"
BOTH = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
Json = dict[str, Any]


def head(method: str, target: str, headers: Mapping[str, str] | None = None, length: int | None = None) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "host: 127.0.0.1", *(f"{k}: {v}" for k, v in (headers or {}).items())]
    if length is not None:
        lines.append(f"content-length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def message(method: str, params: Json | None = None, number: int | str | None = 1) -> Json:
    """A JSON-RPC request, or with `number` None a notification."""
    return {"jsonrpc": "2.0", **({} if number is None else {"id": number}), "method": method, "params": params or {}}


def call(tool: str, arguments: object, meta: Json | None = None, number: int | str = 1) -> Json:
    return message("tools/call", {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})}, number)


def in_2026(request: Json, **more: object) -> tuple[Json, dict[str, str]]:
    """The request as the stateless era wants it, and its headers."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION_2026,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        **request["params"].get("_meta", {}),
        **more,
    }
    headers = {**BOTH, "mcp-protocol-version": VERSION_2026, "mcp-method": request["method"]}
    if "name" in request["params"]:
        headers["mcp-name"] = request["params"]["name"]
    return {**request, "params": {**request["params"], "_meta": meta}}, headers


INITIALIZE = message(
    "initialize",
    {"protocolVersion": VERSION_2025, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    "init",
)
INITIALIZED = message("notifications/initialized", number=None)


@dataclass
class Answer:
    """`complete` tells a response that ended as it should from one that was cut off."""

    status: int
    headers: dict[str, str]
    body: bytes = b""
    complete: bool = False

    def json(self) -> Any:
        """The body, or the one message of an event stream."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            events = [line[5:] for line in self.body.decode().splitlines() if line.startswith("data:") and line[5:].strip()]
            return json.loads(events[-1])
        return json.loads(self.body)


class Connection:
    """One TCP connection to a server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    @asynccontextmanager
    async def to(cls, port: int, limit: int = 2**22) -> AsyncIterator[Connection]:
        async with asyncio.timeout(WAIT_SECONDS):
            own = cls(*await asyncio.open_connection("127.0.0.1", port, limit=limit))
        try:
            yield own
        finally:
            own.close()

    def close(self) -> None:
        """At once, with a reset: as a process that was killed."""
        self.writer.transport.abort()

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def request(
        self, method: str, target: str, body: bytes | Json | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        await self.ask(method, target, body, headers)
        return await self.answer()

    async def ask(
        self, method: str, target: str, body: bytes | Json | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        given = dict(headers or {}) if not isinstance(body, dict) else {**BOTH, **(headers or {})}
        await self.send(head(method, target, given, None if data is None else len(data)) + (data or b""))

    async def begin(self) -> Answer:
        """Status and headers."""
        async with asyncio.timeout(WAIT_SECONDS):
            status = await self.reader.readline()
            headers = {}
            while (line := await self.reader.readline()).strip():
                name, _, value = line.decode("latin-1").partition(":")
                headers[name.strip().lower()] = value.strip()
        if not status:
            raise ConnectionResetError("closed without an answer")
        return Answer(int(status.split()[1]), headers)

    async def answer(self) -> Answer:
        """A whole response, as far as it comes."""
        answer = await self.begin()
        async with asyncio.timeout(WAIT_SECONDS):
            if "content-length" in answer.headers:
                wanted = int(answer.headers["content-length"])
                answer.body = await self.reader.readexactly(wanted)
                answer.complete = True
            elif answer.headers.get("transfer-encoding") == "chunked":
                while (piece := await self.chunk()) is not None:
                    answer.body += piece
                answer.complete = True
            else:
                answer.complete = answer.status in (204, 304)
        return answer

    async def chunk(self) -> bytes | None:
        """The next piece of a chunked body; None at its proper end. Raises IncompleteReadError when it is cut off."""
        size = await self.reader.readuntil(b"\r\n")
        length = int(size, 16)
        data = await self.reader.readexactly(length + 2)
        return data[:-2] if length else None


async def ask(
    port: int, method: str, target: str, body: bytes | Json | None = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """One request on a connection of its own."""
    async with Connection.to(port) as connection:
        return await connection.request(method, target, body, headers)


async def post_2026(port: int, request: Json, **meta: object) -> Json:
    """A request of the stateless era and its answer."""
    body, headers = in_2026(request, **meta)
    return (await ask(port, "POST", "/mcp", body, headers)).json()


@dataclass
class SseClient:
    """One conversation over HTTP+SSE. `ended` is None while the stream is open, then whether it ended as it should."""

    port: int
    stream: Connection
    messages: str = ""
    ended: bool | None = None
    heard: list[Json] = field(default_factory=list)
    proof: dict[str, str] = field(default_factory=dict)
    """What proves the client to whom it has to prove itself, in each request."""
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)
    _listening: asyncio.Task[None] | None = None
    _number: int = 0

    @classmethod
    @asynccontextmanager
    async def to(cls, port: int, headers: Mapping[str, str] | None = None) -> AsyncIterator[SseClient]:
        """An open stream that has been initialised."""
        async with Connection.to(port) as stream:
            await stream.ask("GET", "/sse", headers={"accept": "text/event-stream", **(headers or {})})
            answer = await stream.begin()
            assert answer.status == 200, answer
            proof = {name: value for name, value in (headers or {}).items() if name.lower() == "authorization"}
            client = cls(port, stream)
            client.proof = proof
            client._listening = asyncio.create_task(client._listen())
            try:
                await client._wait(lambda: bool(client.messages))
                await client.post(INITIALIZE)
                await client.answer_to("init")
                await client.post(INITIALIZED)
                yield client
            finally:
                client._listening.cancel()
                await asyncio.gather(client._listening, return_exceptions=True)

    async def _listen(self) -> None:
        buffer = b""
        ended = False
        try:
            while (piece := await self.stream.chunk()) is not None:
                buffer += piece
                *events, buffer = buffer.replace(b"\r\n", b"\n").split(b"\n\n")
                for event in events:
                    self._hear(event.decode())
                async with self._news:
                    self._news.notify_all()
            ended = True
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.ended = ended
            async with self._news:
                self._news.notify_all()

    def _hear(self, event: str) -> None:
        fields = dict(line.split(": ", 1) for line in event.splitlines() if ": " in line and not line.startswith(":"))
        if fields.get("event") == "endpoint":
            self.messages = fields["data"]
        elif "data" in fields:
            self.heard.append(json.loads(fields["data"]))

    async def _wait(self, condition: Any, seconds: float = WAIT_SECONDS) -> None:
        async with asyncio.timeout(seconds), self._news:
            await self._news.wait_for(lambda: condition() or self.ended is not None)
        assert condition(), f"the stream ended ({'as it should' if self.ended else 'cut off'}) before the answer came"

    async def post(self, body: bytes | Json, headers: Mapping[str, str] | None = None) -> Answer:
        given = {**BOTH, **self.proof, **(headers or {})}
        return await ask(self.port, "POST", self.messages, body, given)

    async def answer_to(self, number: int | str, seconds: float = WAIT_SECONDS) -> Json:
        await self._wait(lambda: any(each.get("id") == number for each in self.heard), seconds)
        return next(each for each in self.heard if each.get("id") == number)

    async def call(self, tool: str, arguments: object, meta: Json | None = None) -> Json:
        """The call's result. Fails on a JSON-RPC error."""
        number = await self.start(tool, arguments, meta)
        return (await self.answer_to(number))["result"]

    async def start(self, tool: str, arguments: object, meta: Json | None = None) -> int:
        """Posts a call and does not wait for its answer."""
        self._number = number = self._number + 1
        answer = await self.post(call(tool, arguments, meta, number))
        assert answer.status == 202, answer
        return number

    async def end(self, seconds: float) -> bool:
        """Waits for the end of the stream, and tells whether it was a proper one."""
        async with asyncio.timeout(seconds), self._news:
            await self._news.wait_for(lambda: self.ended is not None)
        return bool(self.ended)
