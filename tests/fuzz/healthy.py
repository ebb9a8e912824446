"""Somebody who does no harm, and has to notice none."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from tests.support.raw import ask, in_2026, message

PATIENCE_SECONDS = 3.0
"""A turn's budget."""


class Healthy:
    """A client as any other: a known call every 100 ms, the answer to which has to be right each time. When the server says
    that it is busy and when to come back, it comes back then; `put_off` counts how often."""

    EVERY_SECONDS = 0.1
    CALLS = (
        ("get_manga_details", {"title_id": "manga-002001"}),
        ("check_inventory", {"title_ids": ["manga-002001", "manga-001001"]}),
        ("lookup_order", {"order_id": "MNG-DEMO1001"}),
        ("search_manga_catalog", {"query": "berserk", "max_results": 3}),
    )

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._own = {"authorization": f"Bearer {token}"}
        self._right: list[object] = []
        self.wrong: list[str] = []
        self.seconds: list[float] = []
        self.put_off = 0

    async def learn(self) -> None:
        """What is right, before anybody does harm."""
        self._right = [await self.asked(number) for number in range(len(self.CALLS))]
        assert all(isinstance(each, list) and any(each) for each in self._right), self._right

    async def live(self, stop: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        turn = 0
        while not stop.is_set():
            number, began = turn % len(self.CALLS), loop.time()
            turn += 1
            try:
                answer = await self.asked(number)
            except Exception as error:
                answer = repr(error)
            self.seconds.append(loop.time() - began)
            if answer != self._right[number]:
                self.wrong.append(f"{self.CALLS[number]}: {answer!r:.600}")
            try:
                await asyncio.wait_for(stop.wait(), self.EVERY_SECONDS)
            except TimeoutError:
                continue

    async def asked(self, number: int) -> object:
        """The result without what changes from one time to the next, such as stock."""
        name, arguments = self.CALLS[number]
        meta = {"com.mangaassist/userId": "demo-user-1"}
        body, headers = in_2026(message("tools/call", {"name": name, "arguments": arguments, "_meta": meta}))
        give_up = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = await ask(self._port, "POST", "/mcp", body, {**headers, **self._own})
            content = answer.json()["result"]["structuredContent"]
            error = content.get("error")
            if error is None:
                return [content.get(key) for key in ("title_id", "order_id", "status")] + _titles(content)
            if error["name"] != "SERVER_BUSY" or time.monotonic() > give_up:
                return error
            self.put_off += 1
            await asyncio.sleep(error["data"]["retry_after_ms"] / 1000)


def _titles(content: dict[str, Any]) -> list[str]:
    rows = [row for value in content.values() if isinstance(value, list) for row in value if isinstance(row, dict)]
    return [row["title_id"] for row in rows if "title_id" in row]
