"""A WebSocket client by hand: frames as they are, so that what no library would send can be sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Event, Message, Ping, RejectConnection, RejectData, Request

SECONDS = 30
CALL = "tools/call"


def request(number: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(number: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    return request(number, CALL, name=tool, arguments=arguments)


def initialize(version: str) -> dict[str, Any]:
    client = {"name": "test", "version": "1"}
    return request("begin", "initialize", protocolVersion=version, capabilities={}, clientInfo=client)


class Refused(Exception):
    """The server said something else than 101."""

    def __init__(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        super().__init__(status)
        self.status = status
        self.headers = {bytes(name).decode(): bytes(value).decode() for name, value in headers}


class WebSocket:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.frames = WSConnection(ConnectionType.CLIENT)
        self._events: list[Event] = []
        self.subprotocol: str | None = None

    async def next(self) -> Event:
        """What comes next; an end of the connection without a word is 1006 (RFC 6455, section 7.1.5)."""
        async with asyncio.timeout(SECONDS):
            while not self._events:
                data = await self._reader.read(65536)
                if not data:
                    return CloseConnection(1006)
                self.frames.receive_data(data)
                self._events += self.frames.events()
        return self._events.pop(0)

    def write(self, event: Event) -> None:
        self.writer.write(self.frames.send(event))

    def say(self, message: Any) -> None:
        self.write(Message(message if isinstance(message, str | bytes) else json.dumps(message)))

    async def heard(self) -> Any:
        """The next message."""
        text = ""
        while True:
            event = await self.next()
            if isinstance(event, Ping):
                self.write(event.response())
                continue
            assert isinstance(event, Message), event
            text += str(event.data)
            if event.message_finished:
                return json.loads(text)

    async def asked(self, message: Any) -> Any:
        self.say(message)
        return await self.heard()

    async def closed(self) -> int:
        """Why the server ends it."""
        while not isinstance(event := await self.next(), CloseConnection):
            pass
        return event.code

    async def introduced(self, version: str = "2025-11-25") -> WebSocket:
        """The handshake of MCP."""
        agreed = await self.asked(initialize(version))
        assert agreed["result"]["protocolVersion"] == version
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self


@asynccontextmanager
async def websocket(
    port: int, *, path: str = "/ws", subprotocols: tuple[str, ...] = ("mcp",), host: str = "127.0.0.1", **headers: str
) -> AsyncIterator[WebSocket]:
    """Raises `Refused`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        opened = WebSocket(reader, writer)
        extra = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        opened.write(Request(host=host, target=path, subprotocols=list(subprotocols), extra_headers=extra))
        answer = await opened.next()
        if isinstance(answer, RejectConnection):
            raise Refused(answer.status_code, answer.headers)
        assert isinstance(answer, AcceptConnection | RejectData), answer
        opened.subprotocol = getattr(answer, "subprotocol", None)
        yield opened
    finally:
        writer.close()
