"""The official Python client of the 1.x line, listening: lists its tools whenever it is told that they have changed.

Run by a Python that has it: `python mcp1_listener.py sse URL http URL …`. Prints a JSON line for each connection that is
ready, `{"client": "URL"}`, and for each notification, with the machine's monotonic seconds of both:
`{"client", "told", "listed", "tools"}`. Ends with its stdin.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import AsyncExitStack

import mcp.types as types
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamablehttp_client


def say(**line: object) -> None:
    print(json.dumps(line), flush=True)


async def listen(stack: AsyncExitStack, kind: str, url: str) -> None:
    told: asyncio.Queue[float] = asyncio.Queue()

    async def heard(message: object) -> None:
        if isinstance(message, types.ServerNotification) and isinstance(message.root, types.ToolListChangedNotification):
            told.put_nowait(time.monotonic())

    connect = sse_client if kind == "sse" else streamablehttp_client
    read, write, *_ = await stack.enter_async_context(connect(url))
    session = await stack.enter_async_context(ClientSession(read, write, message_handler=heard))
    await session.initialize()

    async def go_on() -> None:
        while True:
            at = await told.get()
            tools = (await session.list_tools()).tools
            say(client=url, told=at, listed=time.monotonic(), tools=[tool.name for tool in tools])

    task = asyncio.create_task(go_on())
    stack.callback(task.cancel)
    await session.list_tools()
    say(client=url)


async def main(targets: list[str]) -> None:
    async with AsyncExitStack() as stack:
        for kind, url in zip(targets[::2], targets[1::2], strict=True):
            await listen(stack, kind, url)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
