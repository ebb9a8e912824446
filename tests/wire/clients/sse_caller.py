"""Many SSE clients of the Python SDK, 1.x or 2.x, that all call at once: `python sse_caller.py URL CLIENTS CALLS`.

Each title that is asked for has to be the one that is told of. Prints how many calls were answered so, and the first that was not.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

from mcp.client.session import ClientSession
from mcp.client.sse import sse_client

CONNECT_AT_ONCE = 10
TITLES = 85
AT_ONCE = 8
"""Calls: with more of them a server of one core refuses some, which is not what is asked here."""


async def connected(url: str, stack: AsyncExitStack, turn: asyncio.Semaphore) -> ClientSession:
    async with turn:
        read, write = await stack.enter_async_context(sse_client(url))
        session = await stack.enter_async_context(ClientSession(read, write))
        await session.initialize()
        return session


async def call(session: ClientSession, number: int, turn: asyncio.Semaphore) -> str | None:
    """Tells what was wrong with the answer."""
    async with turn:
        return await _called(session, number)


async def _called(session: ClientSession, number: int) -> str | None:
    title = f"manga-00{1001 + number % TITLES}"
    try:
        result: Any = await session.call_tool("get_manga_details", {"title_id": title})
    except Exception as error:
        return repr(error)
    structured = getattr(result, "structuredContent", None) or getattr(result, "structured_content", None) or {}
    return None if structured.get("title_id") == title else str(result)[:500]


async def client(
    url: str, number: int, calls: int, turns: tuple[asyncio.Semaphore, asyncio.Semaphore], all_there: asyncio.Barrier
) -> list[str | None]:
    connecting, calling = turns
    async with AsyncExitStack() as stack:
        session = await connected(url, stack, connecting)
        await all_there.wait()
        return [await call(session, number + each, calling) for each in range(calls)]


async def main(url: str, clients: int, calls: int) -> dict[str, object]:
    turns, all_there = (asyncio.Semaphore(CONNECT_AT_ONCE), asyncio.Semaphore(AT_ONCE)), asyncio.Barrier(clients)
    each = calls // clients
    told = await asyncio.gather(*(client(url, number, each, turns, all_there) for number in range(clients)))
    wrong = [why for answers in told for why in answers if why is not None]
    return {"calls": each * clients, "wrong": len(wrong), "first_wrong": wrong[0] if wrong else None}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))))
