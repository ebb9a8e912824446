"""The same conversation over every transport, without a library: the bytes of each answer."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from server.results import compact
from tests.support.raw import BOTH, INITIALIZE, INITIALIZED, VERSION_2025, Json, ask, in_2026, message
from tests.support.serving import Serving, clean_environment
from tests.support.sse import SseClient
from tests.support.websocket import websocket

Places = tuple[Path, Path]
"""Where the code is, and what a server of it keeps."""
Conversation = Callable[[Serving, Places, Json, Sequence[Json]], Awaitable[list[bytes]]]
"""(server, places, the client's capabilities, what it asks) to the answers; the first is to its introduction."""


def introduction(capabilities: Json) -> Json:
    return {**INITIALIZE, "params": {**INITIALIZE["params"], "capabilities": capabilities}}


async def over_http_2025(server: Serving, places: Places, capabilities: Json, says: Sequence[Json]) -> list[bytes]:
    hello = await ask(server.port, "POST", "/mcp", introduction(capabilities), BOTH)
    session = {"mcp-session-id": hello.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
    await ask(server.port, "POST", "/mcp", INITIALIZED, {**BOTH, **session})
    asked = [await ask(server.port, "POST", "/mcp", each, {**BOTH, **session}) for each in says]
    return [hello.body, *(each.body for each in asked)]


async def over_http_2026(server: Serving, places: Places, capabilities: Json, says: Sequence[Json]) -> list[bytes]:
    answers = []
    for each in (message("server/discover"), *says):
        body, headers = in_2026(each, **{"io.modelcontextprotocol/clientCapabilities": capabilities})
        answers.append((await ask(server.port, "POST", "/mcp", body, headers)).body)
    return answers


async def over_sse(server: Serving, places: Places, capabilities: Json, says: Sequence[Json]) -> list[bytes]:
    hello = introduction(capabilities)
    async with SseClient.to(server.port, hello=hello) as client:
        for each in says:
            await client.post(each)
        return [compact(await client.answer_to(each["id"])).encode() for each in (hello, *says)]


async def over_websocket(server: Serving, places: Places, capabilities: Json, says: Sequence[Json]) -> list[bytes]:
    async with websocket(server.port) as client:
        answers = [await client.asked(introduction(capabilities))]
        client.say(INITIALIZED)
        answers += [await client.asked(each) for each in says]
        return [compact(each).encode() for each in answers]


async def over_stdio(server: Serving, places: Places, capabilities: Json, says: Sequence[Json]) -> list[bytes]:
    tree, folder = places
    environment = clean_environment(folder, {"MANGA_EMBEDDER": "none"})
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "server",
        "stdio",
        cwd=tree,
        env=environment,
        stdin=pipe,
        stdout=pipe,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers = []
    async with AsyncExitStack() as stack:
        stack.push_async_callback(process.wait)
        stack.callback(process.stdin.close)
        for each in (introduction(capabilities), INITIALIZED, *says):
            process.stdin.write(json.dumps(each).encode() + b"\n")
            await process.stdin.drain()
            if "id" in each:
                async with asyncio.timeout(60):
                    answers.append(await process.stdout.readline())
    return answers


OVER: Mapping[str, Conversation] = {
    "http-2025": over_http_2025,
    "http-2026": over_http_2026,
    "sse": over_sse,
    "websocket": over_websocket,
    "stdio": over_stdio,
}
