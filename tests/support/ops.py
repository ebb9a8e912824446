"""A page's stream as its script hears it, over a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.raw import WAIT_SECONDS, Connection

PAGE, EVENTS = "/ops", "/ops/events"
Json = dict[str, Any]


@dataclass
class Events:
    """What was heard so far: `said` is all of it, to the byte."""

    connection: Connection
    headers: dict[str, str]
    said: bytearray = field(default_factory=bytearray)
    _read: int = 0

    async def event(self) -> tuple[str, Json]:
        """The next one; what is no event is passed over. Raises `EOFError` at the end of the stream."""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                while (end := self.said.find(b"\n\n", self._read)) < 0:
                    if (piece := await self.connection.chunk()) is None:
                        raise EOFError
                    self.said += piece
                block, self._read = self.said[self._read : end].decode(), end + 2
                lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != ":")
                if "event" in lines:
                    return lines["event"], json.loads(lines["data"])

    async def next(self, name: str) -> Json:
        while True:
            found, data = await self.event()
            if found == name:
                return data

    async def ended(self) -> None:
        """Waits for the end."""
        try:
            while True:
                await self.event()
        except EOFError:
            return


@asynccontextmanager
async def watching(port: int, headers: Mapping[str, str] | None = None) -> AsyncIterator[Events]:
    """An open stream."""
    async with Connection.to(port) as connection:
        await connection.ask("GET", EVENTS, headers=headers)
        answer = await connection.begin()
        assert answer.status == 200, answer
        yield Events(connection, answer.headers)
