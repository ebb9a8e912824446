"""What goes wrong between two processes, and what is said there by somebody who should not: nothing waits for ever for it."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp_types import INTERNAL_ERROR
from prometheus_client import CollectorRegistry
from starlette.types import ASGIApp, Receive, Scope, Send

from server.transport.relay.counts import Counts
from server.transport.relay.frames import MESSAGES, SESSIONS, Part
from server.transport.relay.over_redis import RedisRelay
from server.transport.relay.relayed import Relayed
from session.keys import relay
from session.redis.address import RedisAddress
from tests.support.cases import cases
from tests.support.redis_kinds import reached
from tests.support.valkey import ask, eventually

SOON = 30.0
PING = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'


class Client:
    """Of one request: it has all that it was told."""

    def __init__(self) -> None:
        self.status = 0
        self.body = b""
        self.leaves = asyncio.Event()

    async def receive(self) -> dict[str, object]:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            self.status = int(str(message["status"]))
        else:
            self.body += bytes(message.get("body", b""))  # type: ignore[arg-type]


def scope(method: str = "POST") -> Scope:
    return {
        "type": "http",
        "method": method,
        "path": "/",
        "query_string": b"",
        "scheme": "http",
        "headers": [],
        "client": ("127.0.0.1", 1),
        "manga.arrived": time.monotonic(),
    }


@asynccontextmanager
async def process(
    address: RedisAddress, patience_seconds: float = SOON, registry: CollectorRegistry | None = None
) -> AsyncIterator[Relayed]:
    async with reached(address) as redis:
        own = Relayed(RedisRelay(redis, time.monotonic), patience_seconds, Counts(registry or CollectorRegistry()))
        keeping = asyncio.create_task(own.keep())
        await own.name()
        try:
            yield own
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await own.aclose()


async def test_a_large_answer_arrives_whole(valkey: RedisAddress) -> None:
    """Of which no part overtakes another, however large each is."""
    answer = os.urandom(300_001)

    async def own(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for at in range(0, len(answer), 100_000):
            await send({"type": "http.response.body", "body": answer[at : at + 100_000], "more_body": True})
            await send({"type": "http.response.body", "body": b".", "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    expected = b"".join(answer[at : at + 100_000] + b"." for at in range(0, len(answer), 100_000))
    async with process(valkey) as one, process(valkey) as two:
        one._apps[SESSIONS] = own
        for _ in range(20):
            client = Client()
            async with asyncio.timeout(SOON):
                await two._asking.pass_on(one._relay.own, SESSIONS, b"", scope(), client.receive, client.send)
            assert (client.status, client.body == expected) == (200, True), len(client.body)


@cases("to", [MESSAGES, SESSIONS])
async def test_a_request_that_was_taken_and_then_lost_is_not_waited_for_for_ever(to: str, valkey: RedisAddress) -> None:
    """As when its owner lost the channel with the request in it; here nobody there knows what it is for."""
    told = CollectorRegistry()
    async with process(valkey) as one, process(valkey, 0.2, told) as two:
        client = Client()
        async with asyncio.timeout(SOON):
            await two._asking.pass_on(one._relay.own, to, PING, scope(), client.receive, client.send)
        assert told.get_sample_value("manga_relay_forwarded_total", {"outcome": "unreached"}) == 1
        assert told.get_sample_value("manga_relay_peers") == 0
        assert client.status == (503 if to == MESSAGES else 200)
        assert b"does not answer" in client.body
        assert len(two._asking) == 0


@cases("garbage", [b"", b"\xff", b"{}", b"@", b"@nothing", b"[" * 99_999, b'{"k":"part","from":"a","n":1}'])
async def test_who_hears_garbage_goes_on(garbage: bytes, valkey: RedisAddress) -> None:
    heard: list[str] = []

    async def own(scope: Scope, receive: Receive, send: Send) -> None:
        heard.append(scope["path"])
        await send({"type": "http.response.start", "status": 202, "headers": []})
        await send({"type": "http.response.body", "body": b"Accepted"})

    async with reached(valkey) as redis, process(valkey) as one, process(valkey) as two:
        one._apps[MESSAGES] = own
        await ask(redis, "PUBLISH", relay(one._relay.own), garbage)
        client = Client()
        async with asyncio.timeout(SOON):
            await two._asking.pass_on(one._relay.own, MESSAGES, b"x", scope(), client.receive, client.send)
        assert (client.status, client.body, heard) == (202, b"Accepted", ["/"])


async def test_a_part_of_an_answer_counts_only_from_who_was_asked(valkey: RedisAddress) -> None:
    async def own(scope: Scope, receive: Receive, send: Send) -> None:
        forged = Part("f" * 12, 1, 0, b"forged", False, 200, ())
        await one._relay.send(two._relay.own, forged.encoded())
        await send({"type": "http.response.start", "status": 202, "headers": []})
        await send({"type": "http.response.body", "body": b"Accepted"})

    async with process(valkey) as one, process(valkey) as two:
        one._apps[MESSAGES] = own
        client = Client()
        async with asyncio.timeout(SOON):
            await two._asking.pass_on(one._relay.own, MESSAGES, b"x", scope(), client.receive, client.send)
        assert (client.status, client.body) == (202, b"Accepted")
        await eventually(lambda: not len(one._serving) and not len(two._asking))


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _failure(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise RuntimeError("its session has been closed under it")


@cases("ends", [_nothing, _failure])
async def test_a_request_whose_owner_ends_without_an_answer_gets_one(ends: ASGIApp, valkey: RedisAddress) -> None:
    """An error of its own: a client waits for ever for a stream that has ended, and for a POST that has failed."""
    async with process(valkey) as one, process(valkey) as two:
        one._apps[SESSIONS] = ends
        client = Client()
        async with asyncio.timeout(SOON):
            await two._asking.pass_on(one._relay.own, SESSIONS, PING, scope(), client.receive, client.send)
        assert client.status == 200
        assert json.loads(client.body.decode().rpartition("data: ")[2])["error"]["code"] == INTERNAL_ERROR
        assert b"closed under it" not in client.body
