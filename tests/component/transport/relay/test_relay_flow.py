"""A relayed answer is sent no faster than its client reads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.identity.request_metadata import TrustStated
from server.transport.relay import forwarding, serving
from server.transport.relay.carriers import SocketRelay
from server.transport.relay.forwarding import WINDOW, Answer, Forwarder, Lost
from server.transport.relay.port import SESSIONS, Ask, Cancel, Part, Progress, decode
from server.transport.relay.serving import LARGEST_PART, ForwardedRequests
from tests.support.valkey import eventually

PARTS = 10 * WINDOW


class Owner:
    """An application that answers with many parts, and counts those that it could send."""

    sent = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(PARTS):
            body = bytes([number % 256]) * LARGEST_PART
            await send({"type": "http.response.body", "body": body, "more_body": number < PARTS - 1})
            self.sent += 1


@asynccontextmanager
async def joined(folder: Path, app: ASGIApp) -> AsyncIterator[tuple[Forwarder, ForwardedRequests, str]]:
    """Two processes' sides of a relay, and the owner's name."""
    near, far = SocketRelay(folder), SocketRelay(folder)
    forwarder = Forwarder(near, 10.0, CollectorRegistry(), TrustStated())
    served = ForwardedRequests(far, {SESSIONS: app})

    def receive(message: bytes) -> None:
        match decode(message):
            case Ask() as ask:
                served.begin(ask)
            case Cancel() as left:
                served.leave(left)
            case Progress() as progress:
                served.note_progress(progress)
            case Part() as part:
                forwarder.add_part(part)

    keeping = [asyncio.create_task(relay.run(receive, lambda: None)) for relay in (near, far)]
    try:
        await asyncio.gather(near.ready(), far.ready())
        yield forwarder, served, far.own
    finally:
        await forwarder.aclose()
        await served.aclose(0.0)
        for each in keeping:
            each.cancel()
        await asyncio.gather(*keeping, return_exceptions=True)
        await asyncio.gather(near.aclose(), far.aclose())


class Client:
    """A client that takes what it is sent once its gate is open, and never leaves by itself."""

    def __init__(self) -> None:
        self.gate, self.gone = asyncio.Event(), asyncio.Event()
        self.body = b""

    async def send(self, message: Message) -> None:
        await self.gate.wait()
        self.body += message.get("body", b"")

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}


def scope(method: str = "POST") -> Scope:
    own = {"type": "http", "method": method, "path": "/mcp", "query_string": b"", "scheme": "http", "headers": []}
    return {**own, "client": ("127.0.0.1", 1), "manga.arrived": time.monotonic()}


async def test_owner_sends_at_most_one_window_ahead_of_the_reader(tmp_path: Path) -> None:
    app, client = Owner(), Client()
    async with joined(tmp_path, app) as (forwarder, served, owner):
        asking = asyncio.create_task(forwarder.forward(owner, SESSIONS, b"{}", scope(), client.receive, client.send))
        await eventually(lambda: app.sent == WINDOW)
        await asyncio.wait({asking}, timeout=0.3)
        assert (app.sent, len(served)) == (WINDOW, 1)
        client.gate.set()
        await asyncio.wait_for(asking, 30)
        assert client.body == b"".join(bytes([number % 256]) * LARGEST_PART for number in range(PARTS))


async def test_owner_stops_waiting_for_a_client_that_left_or_reads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, client = Owner(), Client()
    async with joined(tmp_path, app) as (forwarder, served, owner):
        asking = asyncio.create_task(forwarder.forward(owner, SESSIONS, b"{}", scope(), client.receive, client.send))
        await eventually(lambda: app.sent == WINDOW)
        client.gone.set()
        await asking
        await eventually(lambda: not len(served))
        monkeypatch.setattr(serving, "STALL_SECONDS", 0.05)
        silent = Client()
        again = asyncio.create_task(forwarder.forward(owner, SESSIONS, b"{}", scope(), silent.receive, silent.send))
        await eventually(lambda: app.sent == 2 * PARTS)
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)


async def test_answer_is_sent_without_flow_control_to_a_process_without_a_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The previous release states no window; it bounds answers where it reads them."""
    monkeypatch.setattr(forwarding, "WINDOW", 0)
    monkeypatch.setattr(forwarding, "MOST_UNREAD_BYTES", PARTS * LARGEST_PART)
    app, client = Owner(), Client()
    async with joined(tmp_path, app) as (forwarder, _, owner):
        asking = asyncio.create_task(forwarder.forward(owner, SESSIONS, b"{}", scope(), client.receive, client.send))
        await eventually(lambda: app.sent == PARTS)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


async def test_answer_that_nobody_reads_is_cut_off() -> None:
    """A process of the previous release sends without a window."""
    answer, most = Answer("owner"), 4 * 2**20
    for order in range(2 * most // LARGEST_PART):
        answer.add(Part("owner", 1, order, b"x" * LARGEST_PART, True))
    read = 0
    with pytest.raises(Lost):
        while read < most:
            read += len((await answer.next_part()).body)


async def test_lost_messages_end_the_streams_of_other_processes_and_no_request(tmp_path: Path) -> None:
    """A stream left open would block its client's next one; a request would have to run a second time."""
    ended: list[str] = []

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        ended.append(scope["method"])

    async with joined(tmp_path, waiting) as (forwarder, served, owner):
        clients = [Client(), Client()]
        asking = [
            asyncio.create_task(forwarder.forward(owner, SESSIONS, b"", scope(method), client.receive, client.send))
            for method, client in zip(("GET", "POST"), clients, strict=True)
        ]
        await eventually(lambda: len(served) == 2)
        served.lose()
        await eventually(lambda: len(served) == 1)
        assert ended == ["GET"]
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
