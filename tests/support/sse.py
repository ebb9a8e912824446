"""One conversation over HTTP+SSE, by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.raw import BOTH, INITIALIZE, INITIALIZED, WAIT_SECONDS, Answer, Connection, Json, ask, call


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
    async def to(
        cls, port: int, headers: Mapping[str, str] | None = None, hello: Json = INITIALIZE
    ) -> AsyncIterator[SseClient]:
        """An open stream that has been initialised, by `hello`."""
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
                await client.post(hello)
                await client.answer_to(hello["id"])
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
