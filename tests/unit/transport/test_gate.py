"""The gate answers a request that a draining server cuts off."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.types import Message, Receive, Scope, Send

from server.identity import TrustStated
from server.runtime.lifecycle import Lifecycle
from server.transport.http.authorization import Challenge
from server.transport.http.middleware import AllowedOrigins, Gate

REQUEST: Scope = {
    "type": "http",
    "method": "POST",
    "path": "/mcp",
    "raw_path": b"/mcp",
    "query_string": b"",
    "headers": [(b"host", b"127.0.0.1:1"), (b"mcp-session-id", b"of-another-process")],
    "client": ("127.0.0.1", 2),
}


async def statuses(*, draining: bool, begins: bool = False) -> list[int]:
    """Of a request that is cancelled while it is served."""
    said: list[Message] = []
    served = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        served.set()
        await asyncio.Event().wait()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        said.append(message)

    gate = Gate(
        app, Lifecycle(draining=draining), AllowedOrigins("127.0.0.1", 1), TrustStated(), Challenge(), {}, lambda _: None
    )
    serving = asyncio.create_task(gate({**REQUEST}, receive, send))
    await served.wait()
    serving.cancel()
    with suppress(asyncio.CancelledError):
        await serving
    return [each["status"] for each in said if each["type"] == "http.response.start"]


async def test_request_cut_off_by_a_draining_server_gets_503() -> None:
    """uvicorn by itself would answer 500."""
    assert await statuses(draining=True) == [503]


async def test_started_answer_and_running_server_get_no_503() -> None:
    assert await statuses(draining=True, begins=True) == [200]
    assert await statuses(draining=False) == []
