"""Who has not declared cards is sent the bytes that a server sends which has none; and such a server is one."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from server.results import compact
from tests.support.cards import DECLARED, JUNK, NAME
from tests.support.raw import BOTH, INITIALIZE, INITIALIZED, VERSION_2025, Json, ask, call, in_2026, message
from tests.support.serving import ROOT, Serving, clean_environment
from tests.support.sse import SseClient
from tests.support.websocket import websocket

SAYS: dict[str, Json] = {
    "tools/list": message("tools/list", number=1),
    "resources/list": message("resources/list", number=2),
    "resources/templates/list": message("resources/templates/list", number=3),
    "prompts/list": message("prompts/list", number=4),
    "a result": call("get_manga_details", {"title_id": "manga-001001"}, number=5),
    "stock": call("check_inventory", {"title_ids": ["manga-001001"]}, number=6),
    "a failure": call("get_manga_details", {"title_id": "manga-999999"}, number=7),
    "no tool": call("no_tool", {}, number=8),
}
VARIES = re.compile(
    rb'\\?"(?:callId|request_id)\\?":\\?"[0-9a-f]+\\?"|\\?"(?:latencyMs|remainingMs)\\?":[0-9.]+|'
    rb'\\?"(?:asOf|as_of)\\?":\\?"[^"\\]+\\?"|\\?"source\\?":\\?"(?:live|cache)\\?"|"degraded":\[[^\]]*\]'
)
"""What differs from call to call, with and without cards."""
Places = tuple[Path, Path]
"""Where the code is, and what a server of it keeps."""
Conversation = Callable[[Serving, Places, Json], Awaitable[list[bytes]]]


def fixed(answer: bytes) -> bytes:
    return VARIES.sub(b"", answer)


def introduction(capabilities: Json) -> Json:
    return {**INITIALIZE, "params": {**INITIALIZE["params"], "capabilities": capabilities}}


async def over_http_2025(server: Serving, places: Places, capabilities: Json) -> list[bytes]:
    hello = await ask(server.port, "POST", "/mcp", introduction(capabilities), BOTH)
    session = {"mcp-session-id": hello.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
    await ask(server.port, "POST", "/mcp", INITIALIZED, {**BOTH, **session})
    asked = [await ask(server.port, "POST", "/mcp", each, {**BOTH, **session}) for each in SAYS.values()]
    return [hello.body, *(each.body for each in asked)]


async def over_http_2026(server: Serving, places: Places, capabilities: Json) -> list[bytes]:
    answers = []
    for each in (message("server/discover"), *SAYS.values()):
        body, headers = in_2026(each, **{"io.modelcontextprotocol/clientCapabilities": capabilities})
        answers.append((await ask(server.port, "POST", "/mcp", body, headers)).body)
    return answers


async def over_sse(server: Serving, places: Places, capabilities: Json) -> list[bytes]:
    hello = introduction(capabilities)
    async with SseClient.to(server.port, hello=hello) as client:
        for each in SAYS.values():
            await client.post(each)
        return [compact(await client.answer_to(each["id"])).encode() for each in (hello, *SAYS.values())]


async def over_websocket(server: Serving, places: Places, capabilities: Json) -> list[bytes]:
    async with websocket(server.port) as client:
        answers = [await client.asked(introduction(capabilities))]
        client.say(INITIALIZED)
        answers += [await client.asked(each) for each in SAYS.values()]
        return [compact(each).encode() for each in answers]


async def over_stdio(server: Serving, places: Places, capabilities: Json) -> list[bytes]:
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
        for each in (introduction(capabilities), INITIALIZED, *SAYS.values()):
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


@pytest.mark.parametrize("name", list(OVER))
async def test_who_declares_nothing_is_sent_the_same_bytes(
    name: str, whole: Serving, bare: Serving, bare_tree: Path, cache: Path
) -> None:
    now, before = await OVER[name](whole, (ROOT, cache), {}), await OVER[name](bare, (bare_tree, cache), {})
    assert len(now) == 1 + len(SAYS)
    for what, one, other in zip(("hello", *SAYS), now, before, strict=True):
        assert fixed(one) == fixed(other), what
        assert b"ui://" not in one


@pytest.mark.parametrize("name", [name for name in OVER if name != "stdio"])
async def test_a_server_without_the_room_tells_hosts_of_no_cards(
    name: str, bare: Serving, bare_tree: Path, cache: Path
) -> None:
    told = await OVER[name](bare, (bare_tree, cache), {"extensions": {NAME: DECLARED}})
    plain = await OVER[name](bare, (bare_tree, cache), {})
    assert list(map(fixed, told)) == list(map(fixed, plain))


@pytest.mark.parametrize("name", ["http-2025", "sse", "websocket"])
@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK.keys())
async def test_junk_is_as_good_as_nothing(name: str, junk: Any, whole: Serving, cache: Path) -> None:
    """What a handshake says is cut to what is understood of it before anything else reads it."""
    told, plain = (
        await OVER[name](whole, (ROOT, cache), {"extensions": {NAME: junk}}),
        await OVER[name](whole, (ROOT, cache), {}),
    )
    assert list(map(fixed, told)) == list(map(fixed, plain))


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK.keys())
async def test_junk_with_each_request_is_nothing_or_refused_as_the_protocol_refuses_it(
    junk: Any, whole: Serving, cache: Path
) -> None:
    """The 2026 era has a form for what is declared: settings of an extension are an object."""
    told, plain = (
        await over_http_2026(whole, (ROOT, cache), {"extensions": {NAME: junk}}),
        await over_http_2026(whole, (ROOT, cache), {}),
    )
    if isinstance(junk, dict):
        assert list(map(fixed, told)) == list(map(fixed, plain))
    else:
        assert {json.loads(each)["error"]["code"] for each in told} == {-32602}
