"""Clients that go on whatever happens to their server: they tell what became of every call, and connect anew.

Half of them are on HTTP+SSE, half in a 2025 session of Streamable HTTP, all over bare sockets.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from server.transport.relay.forwarding import AWAY
from tests.support.raw import BOTH, INITIALIZE, INITIALIZED, VERSION_2025, Json, ask, call
from tests.support.sse import SseClient

ANSWERED, REFUSED, FAILED, CUT, SILENT, WRONG = "answered", "refused", "failed", "cut off", "never answered", "wrong"
LOST = (FAILED, CUT, SILENT, WRONG)
SILENT_SECONDS = 15.0
"""Five turns: who waits longer hears nothing any more."""
AGAIN_SECONDS = 0.05
TITLES = 85


@dataclass(slots=True)
class Told:
    """What became of calls. One that was refused was not taken: it is asked again, and is not lost. `under_way` are those
    that wait now, `last` is when one was lost or refused (`time.monotonic`)."""

    counts: Counter[str] = field(default_factory=Counter)
    under_way: int = 0
    last: float = 0.0
    first_lost: str | None = None

    def say(self, what: str, why: object = None) -> None:
        self.counts[what] += 1
        if what != ANSWERED:
            self.last = time.monotonic()
        if what in LOST and self.first_lost is None:
            self.first_lost = f"{what}: {why}"[:300]

    @property
    def lost(self) -> int:
        return sum(self.counts[what] for what in LOST)


class Ended(Exception):
    """The session is no more."""


class RestlessClient:
    """Asks for a title, thinks for `think` seconds or so, and asks for the next."""

    def __init__(self, port: int, number: int, think: float, told: Told) -> None:
        self._port = port
        self._next = number
        self._think = think
        self._told = told

    async def run(self, over: asyncio.Event) -> None:
        serve = self._on_sse if self._next % 2 else self._in_session
        while not over.is_set():
            with suppress(Ended, OSError, TimeoutError, AssertionError, KeyError, asyncio.IncompleteReadError):
                await serve(over)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _pause(self) -> None:
        await asyncio.sleep(self._think * random.uniform(0.5, 1.5))  # noqa: S311

    async def _on_sse(self, over: asyncio.Event) -> None:
        async with SseClient.to(self._port) as client:
            while not over.is_set() and client.ended is None:
                await self._counted(self._sse_call(client))
                await self._pause()

    async def _in_session(self, over: asyncio.Event) -> None:
        opened = await ask(self._port, "POST", "/mcp", INITIALIZE, BOTH)
        headers = {**BOTH, "mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
        await ask(self._port, "POST", "/mcp", INITIALIZED, headers)
        while not over.is_set():
            await self._counted(self._session_call(headers))
            await self._pause()

    async def _counted(self, asked: Coroutine[Any, Any, None]) -> None:
        self._told.under_way += 1
        try:
            async with asyncio.timeout(SILENT_SECONDS):
                await asked
        except TimeoutError:
            self._told.say(SILENT)
            raise Ended from None
        finally:
            self._told.under_way -= 1

    async def _sse_call(self, client: SseClient) -> None:
        self._next += 1
        try:
            answer = await client.post(call("get_manga_details", {"title_id": self._title}, None, self._next))
        except (OSError, asyncio.IncompleteReadError) as error:
            self._told.say(CUT, repr(error))
            raise Ended from None
        if answer.status != 202:
            self._told.say(REFUSED)
            raise Ended
        try:
            self._hear(await client.answer_to(self._next, SILENT_SECONDS))
        except AssertionError as error:  # the stream has ended
            self._told.say(CUT, error)
            raise Ended from None
        client.heard.clear()

    async def _session_call(self, headers: dict[str, str]) -> None:
        self._next += 1
        body = call("get_manga_details", {"title_id": self._title}, None, self._next)
        try:
            answer = await ask(self._port, "POST", "/mcp", body, headers)
        except (OSError, asyncio.IncompleteReadError) as error:
            self._told.say(CUT, repr(error))
            raise Ended from None
        if answer.status != 200:
            self._told.say(REFUSED)
            raise Ended
        try:
            said = answer.json()
        except (ValueError, IndexError):
            self._told.say(CUT if not answer.complete else WRONG, answer.body[:200])
            raise Ended from None
        self._hear(said)

    def _hear(self, said: Json) -> None:
        result = said.get("result", {})
        structured = result.get("structuredContent", {})
        if structured.get("title_id") == self._title:
            self._told.say(ANSWERED)
        elif structured.get("error", {}).get("name") == "SERVER_BUSY" or said.get("error", {}).get("message") == AWAY:
            self._told.say(REFUSED)
        elif "error" in said or "error" in structured:
            self._told.say(FAILED, said)
            raise Ended
        else:
            self._told.say(WRONG, said)

    @property
    def _title(self) -> str:
        return f"manga-00{1001 + self._next % TITLES}"
