"""Many of Strands' clients over SSE that all call at once: `python strands_caller.py URL CLIENTS CALLS`; as `sse_caller.py`."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import ExitStack

from mcp.client.sse import sse_client
from strands.tools.mcp import MCPClient

TITLES = 85
AT_ONCE = 8


async def call(client: MCPClient, number: int, turn: asyncio.Semaphore) -> str | None:
    """Tells what was wrong with the answer."""
    async with turn:
        return await _called(client, number)


async def _called(client: MCPClient, number: int) -> str | None:
    title = f"manga-00{1001 + number % TITLES}"
    try:
        result = await client.call_tool_async("use-1", "get_manga_details", {"title_id": title})
    except Exception as error:
        return repr(error)
    structured = result.get("structuredContent") or {}
    return None if structured.get("title_id") == title else str(result)[:500]


async def ask(client: MCPClient, number: int, calls: int, turn: asyncio.Semaphore) -> list[str | None]:
    return [await call(client, number + each, turn) for each in range(calls)]


async def main(url: str, clients: int, calls: int) -> dict[str, object]:
    with ExitStack() as stack:
        opened = [MCPClient(lambda: sse_client(url)) for _ in range(clients)]
        for each in opened:
            stack.enter_context(each)
        each_calls, turn = calls // clients, asyncio.Semaphore(AT_ONCE)
        told = await asyncio.gather(*(ask(client, number, each_calls, turn) for number, client in enumerate(opened)))
    wrong = [why for answers in told for why in answers if why is not None]
    return {"calls": each_calls * clients, "wrong": len(wrong), "first_wrong": wrong[0] if wrong else None}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))))
