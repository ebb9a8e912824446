"""The answer to a request of another process's client, as it goes there."""

from __future__ import annotations

import asyncio

from starlette.types import Message

from server.transport.relay.cut import in_place
from server.transport.relay.frames import Ask, Pairs, Part
from server.transport.relay.post import Gone, Relay, Unreached

LARGEST_PART = 2**14
"""In bytes. With its head it stays below what goes through a channel (`over_redis.LARGEST_MESSAGE`): what waits in a key is
overtaken by what is sent behind it."""
AGAIN_SECONDS = 0.05
PATIENCE_SECONDS = 3.0
"""For which a part is said again that nobody took: as long as it takes to know whether its reader still lives."""
FAILED = "The process that holds this session could not answer."


class Reply:
    """`left` is set where nobody reads on: what is said then goes nowhere, as with a client's closed connection."""

    def __init__(self, relay: Relay, ask: Ask, left: asyncio.Event) -> None:
        self._relay = relay
        self._ask = ask
        self._left = left
        self._head: tuple[int, Pairs] | None = None
        self._order = 0
        self._whole = False

    @property
    def status(self) -> int:
        """0 where nothing was answered yet."""
        return self._head[0] if self._head else 0

    async def send(self, message: Message) -> None:
        """Passes a message of ASGI on. The head waits for the first of the body, but for a GET, whose stream may have
        nothing to say for long."""
        if message["type"] == "http.response.start":
            self._head = message["status"], list(message.get("headers", ()))
            if self._ask.method == "GET":
                await self._say(b"", more=True)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        while len(body) > LARGEST_PART:
            await self._say(body[:LARGEST_PART], more=True)
            body = body[LARGEST_PART:]
        if body or not more:
            await self._say(body, more=more)

    async def end(self) -> None:
        """Ends what the application has not."""
        if not self._whole and not self._left.is_set():
            await self.fail()

    async def fail(self) -> None:
        """Says so, or ends what was begun."""
        if self._order:
            await self._say(b"", more=False)
            return
        said = in_place(self._ask.to, self._ask.body, FAILED)
        self._head = said.status_code, said.raw_headers
        await self._say(bytes(said.body), more=False)

    async def _say(self, body: bytes, *, more: bool) -> None:
        if self._left.is_set() or self._whole:
            return
        status, headers = self._head or (500, ())
        part = Part(self._relay.own, self._ask.number, self._order, body, more, status, headers)
        self._order += 1
        self._whole = not more
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._until_taken(part.encoded())
        except (Gone, TimeoutError):
            self._left.set()

    async def _until_taken(self, message: bytes) -> None:
        while True:
            try:
                await self._relay.send(self._ask.sender, message)
            except Gone:
                raise
            except Unreached:
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                return
