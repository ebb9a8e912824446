"""Batches over stdio, with the server as a process."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.support.process import run
from tests.support.websocket import call, initialize, request

SECONDS = 30


async def over_stdio(version: str, *lines: Any, answers: int) -> list[Any]:
    """So many answers to these lines, after the handshake."""
    pipe = asyncio.subprocess.PIPE
    async with run("stdio", stdin=pipe, stdout=pipe) as process:
        stdin, stdout = process.process.stdin, process.process.stdout
        assert stdin is not None
        assert stdout is not None
        for message in (initialize(version), {"jsonrpc": "2.0", "method": "notifications/initialized"}, *lines):
            stdin.write(json.dumps(message).encode() + b"\n")
        async with asyncio.timeout(SECONDS):
            said = [json.loads(await stdout.readline()) for _ in range(1 + answers)]
        stdin.close()
        assert await process.ended(SECONDS) == 0
    return said[1:]


async def test_each_message_of_a_batch_line_is_answered() -> None:
    """Messages before the end of stdin are answered too."""
    batch = [
        call(1, "search_manga_catalog", query="one piece"),
        {"jsonrpc": "2.0", "id": 2},
        call(3, "check_inventory", title_ids=["manga-001001"]),
    ]
    said = {answer["id"]: answer for answer in await over_stdio("2025-03-26", batch, request(4, "ping"), answers=4)}
    assert said[1]["result"]["structuredContent"]["results"]
    assert said[2]["error"]["code"] == -32600
    assert said[3]["result"]["structuredContent"]["checked"] == "title_ids"
    assert said[4]["result"] == {}


async def test_batch_line_is_ignored_in_a_version_without_batches() -> None:
    """The next line is answered."""
    (said,) = await over_stdio("2025-11-25", [request(1, "ping")], request(2, "ping"), answers=1)
    assert said["id"] == 2
