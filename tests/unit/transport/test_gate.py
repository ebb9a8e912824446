"""The gate refuses hosts and addresses that it should not serve, and answers what a draining server cuts off."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from server.identity import TrustStated
from server.runtime.lifecycle import Lifecycle
from server.transport.http.authorization import Challenge
from server.transport.http.bodies import MOST_TARGET_BYTES
from server.transport.http.middleware import AllowedOrigins, Gate
from tests.support.cases import cases

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


@cases(
    ("further", "ports"),
    [
        (("shop.example",), {"", ":8080"}),
        (("shop.example:*",), {"", ":8080", ":443"}),
        (("shop.example:443",), {":443"}),
        ((), set()),
    ],
)
def test_allowed_host_is_served_with_the_ports_that_its_entry_names(further: tuple[str, ...], ports: set[str]) -> None:
    allowed = AllowedOrigins("127.0.0.1", 8080, further)
    assert {port for port in ("", ":8080", ":443", ":x") if allowed.host(f"Shop.Example{port}")} == ports
    assert not any(allowed.host(name) for name in ("shop.exampl", "shop.example.org"))


async def test_path_and_query_are_limited_together() -> None:
    said: list[Message] = []

    async def send(message: Message) -> None:
        said.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    half = MOST_TARGET_BYTES // 2
    for path, query in ((half, half), (half + 1, half + 1)):
        gate = Gate(Response(), Lifecycle(), AllowedOrigins("127.0.0.1", 1), TrustStated(), Challenge(), {}, lambda _: None)
        await gate({**REQUEST, "raw_path": b"/" * path, "query_string": b"q" * query}, receive, send)
    assert [each["status"] for each in said if each["type"] == "http.response.start"] == [200, 414]
