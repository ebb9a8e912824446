"""HTTP and SSE by hand over asyncio streams: whatever a client may send, and exactly what came back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

WAIT_SECONDS = 30.0
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
    if named := request["params"].get("name") or request["params"].get("uri"):
        headers["mcp-name"] = named
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


async def search_once(port: int) -> None:
    """Returns when the server has made the words of its catalogue ready, which it does beside its first calls."""
    body, headers = in_2026(call("search_manga_catalog", {"query": "pirates, not over 700 yen"}))
    assert (await ask(port, "POST", "/mcp", json.dumps(body).encode(), {**BOTH, **headers})).status == 200
