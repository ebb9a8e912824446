"""A small load that gives every panel of the dashboard something to show: shoppers, and somebody at the wrong door."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import httpx

from tests.support.raw import call, in_2026
from tests.support.sse import SseClient

STREAMS = 3
WAIT_SECONDS = 30.0
PREFIX = "com.mangaassist/"
QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_manga_catalog", {"query": "dark fantasy with swords and demons"}),
    ("get_manga_details", {"title_id": "manga-001001"}),
    ("check_inventory", {"title_ids": ["manga-001001", "manga-001002"]}),
    ("search_manga_catalog", {"query": "qwxzv jkpqv"}),
    ("get_recommendations", {"criteria": "a quiet story about cooking"}),
    ("lookup_order", {"order_id": "MNG-DEMO1001"}),
    ("get_manga_details", {"title_id": "manga-999999"}),
    ("search_manga_catalog", {"query": "a school comedy number {number}"}),
)
"""One after the other: a search that finds nothing and a title that does not exist are among them."""


@asynccontextmanager
async def shoppers(port: int, every: float) -> AsyncIterator[None]:
    """Calls of /mcp and over streams, one each `every` seconds, answered or not, until the block ends."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_SECONDS)
        )
        streams = [await stack.enter_async_context(SseClient.to(port)) for _ in range(STREAMS)]
        group = await stack.enter_async_context(asyncio.TaskGroup())
        shopping = group.create_task(_shop(group, client, streams, every))
        try:
            yield
        finally:
            shopping.cancel()


async def _shop(group: asyncio.TaskGroup, client: httpx.AsyncClient, streams: list[SseClient], every: float) -> None:
    for number in itertools.count():
        tool, arguments = QUESTIONS[number % len(QUESTIONS)]
        said = {name: value.format(number=number) if name == "query" else value for name, value in arguments.items()}
        meta = {f"{PREFIX}userId": "demo-user-1", f"{PREFIX}sessionId": f"shopper-{number % 5}"}
        if number % 3:
            posted, headers = in_2026(call(tool, said, meta, number))
            group.create_task(_unless_late(client.post("/mcp", json=posted, headers=headers)))
        else:
            group.create_task(_unless_late(streams[number % len(streams)].call(tool, said, meta)))
        if number % 10 == 0:
            group.create_task(_unless_late(client.get("/sse", headers={"host": "elsewhere.example"})))
        await asyncio.sleep(every)


async def _unless_late(asking: Coroutine[Any, Any, Any]) -> None:
    """What a machine that stalls does not answer is seen on the dashboard."""
    with suppress(httpx.TransportError, TimeoutError):
        await asking
