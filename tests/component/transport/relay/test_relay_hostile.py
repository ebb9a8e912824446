"""Failures and hostile messages between two processes: no client waits for ever."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from mcp_types import INTERNAL_ERROR
from prometheus_client import CollectorRegistry
from starlette.types import ASGIApp, Receive, Scope, Send

from server.identity.request_metadata import TrustStated
from server.transport.relay.carriers import RedisRelay
from server.transport.relay.port import MESSAGES, SESSIONS, Ask, Part
from server.transport.relay.relayed import RelayRouter
from session.keys import relay
from session.redis.address import RedisAddress
from tests.support.cases import cases
from tests.support.redis_kinds import reached
from tests.support.relayed import Unsealed
from tests.support.valkey import ask, connected, eventually, private_valkey

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
) -> AsyncIterator[RelayRouter]:
    async with reached(address) as redis:
        carrier = RedisRelay(redis, time.monotonic, Unsealed())
        own = RelayRouter(carrier, patience_seconds, registry or CollectorRegistry(), TrustStated())
        keeping = asyncio.create_task(own.run())
        await own.new_name()
        try:
            yield own
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await own.aclose()


async def test_large_answer_arrives_whole(valkey: RedisAddress) -> None:
    """Its parts arrive in order, however large each is."""
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
                await two._forwarder.forward(one._relay.own, SESSIONS, b"", scope(), client.receive, client.send)
            assert (client.status, client.body == expected) == (200, True), len(client.body)


@cases("to", [MESSAGES, SESSIONS])
async def test_request_lost_by_its_owner_is_answered_with_an_error_in_time(to: str, valkey: RedisAddress) -> None:
    """The owner may have lost its channel with the request in it; here it does not know the request."""
    told = CollectorRegistry()
    async with process(valkey) as one, process(valkey, 0.2, told) as two:
        client = Client()
        async with asyncio.timeout(SOON):
            await two._forwarder.forward(one._relay.own, to, PING, scope(), client.receive, client.send)
        assert told.get_sample_value("manga_relay_forwarded_total", {"outcome": "unreached"}) == 1
        assert told.get_sample_value("manga_relay_peers") == 0
        assert client.status == (503 if to == MESSAGES else 200)
        assert b"does not answer" in client.body
        assert len(two._forwarder) == 0


@cases("garbage", [b"", b"\xff", b"{}", b"@", b"@nothing", b"[" * 99_999, b'{"k":"part","from":"a","n":1}'])
async def test_malformed_relay_messages_do_not_stop_the_receiver(garbage: bytes, valkey: RedisAddress) -> None:
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
            await two._forwarder.forward(one._relay.own, MESSAGES, b"x", scope(), client.receive, client.send)
        assert (client.status, client.body, heard) == (202, b"Accepted", ["/"])


async def test_response_part_from_another_process_than_the_owner_is_ignored(valkey: RedisAddress) -> None:
    async def own(scope: Scope, receive: Receive, send: Send) -> None:
        forged = Part("f" * 12, 1, 0, b"forged", False, 200, [])
        await one._relay.send(two._relay.own, forged.encode())
        await send({"type": "http.response.start", "status": 202, "headers": []})
        await send({"type": "http.response.body", "body": b"Accepted"})

    async with process(valkey) as one, process(valkey) as two:
        one._apps[MESSAGES] = own
        client = Client()
        async with asyncio.timeout(SOON):
            await two._forwarder.forward(one._relay.own, MESSAGES, b"x", scope(), client.receive, client.send)
        assert (client.status, client.body) == (202, b"Accepted")
        await eventually(lambda: not len(one._served) and not len(two._forwarder))


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _failure(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise RuntimeError("its session has been closed under it")


@cases("ends", [_nothing, _failure])
async def test_owner_that_ends_without_an_answer_gives_the_client_an_error(ends: ASGIApp, valkey: RedisAddress) -> None:
    """Without an error a client waits for ever for an ended stream and for a failed POST."""
    async with process(valkey) as one, process(valkey) as two:
        one._apps[SESSIONS] = ends
        client = Client()
        async with asyncio.timeout(SOON):
            await two._forwarder.forward(one._relay.own, SESSIONS, PING, scope(), client.receive, client.send)
        assert client.status == 200
        assert json.loads(client.body.decode().rpartition("data: ")[2])["error"]["code"] == INTERNAL_ERROR
        assert b"closed under it" not in client.body


def gated(gate: asyncio.Event, ran: list[bytes], status: int = 202) -> ASGIApp:
    """An application that notes each body, and answers when the gate is open."""

    async def own(scope: Scope, receive: Receive, send: Send) -> None:
        ran.append((await receive())["body"])
        await gate.wait()
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"answered"})

    return own


async def passed_on(asker: RelayRouter, owner: RelayRouter, to: str, body: bytes = PING) -> Client:
    client = Client()
    async with asyncio.timeout(SOON):
        await asker._forwarder.forward(owner._relay.own, to, body, scope(), client.receive, client.send)
    return client


async def test_acknowledged_request_is_waited_for_without_a_limit(valkey: RedisAddress) -> None:
    """Under load an answer begins later than the limit for unacknowledged requests."""
    gate, ran = asyncio.Event(), list[bytes]()
    async with process(valkey) as one, process(valkey, 0.5) as two:
        one._apps[SESSIONS] = gated(gate, ran, 200)
        asked = [asyncio.create_task(passed_on(two, one, SESSIONS, PING)) for _ in range(50)]
        await eventually(lambda: all(each.begun.is_set() for each in two._forwarder._open.values()) and len(ran) == 50)
        done, _ = await asyncio.wait(asked, timeout=1.0)  # twice as long as a first sign is waited for
        assert not done
        gate.set()
        assert {(each.status, each.body) for each in await asyncio.gather(*asked)} == {(200, b"answered")}


@cases("to", [MESSAGES, SESSIONS])
async def test_request_delayed_in_redis_runs_once_and_is_answered(to: str) -> None:
    """The asking process was told that nobody had the request, while its owner worked on it."""
    gate, ran = asyncio.Event(), list[bytes]()
    gate.set()
    with private_valkey() as redis:
        async with process(redis.address) as one, process(redis.address) as two, connected(redis.address) as admin:
            one._apps[to] = gated(gate, ran)
            await ask(admin, "CLIENT", "PAUSE", 1500, "ALL")
            client = await passed_on(two, one, to)
            assert (client.status, client.body, ran) == (202, b"answered", [PING])


async def test_message_repeated_after_a_503_runs_once(valkey: RedisAddress) -> None:
    """The owner works on the first while the client repeats it to either replica; another message runs by itself."""
    gate, ran = asyncio.Event(), list[bytes]()
    async with process(valkey) as one, process(valkey, 0.05) as two, process(valkey) as three:
        one._apps[MESSAGES] = gated(gate, ran)
        assert (await passed_on(two, one, MESSAGES)).status == 503
        gate.set()
        await eventually(lambda: not len(one._served))
        await eventually(lambda: one._served._told_to_retry)
        assert (await passed_on(three, one, MESSAGES)).status == 202
        assert ran == [PING]
        assert (await passed_on(three, one, MESSAGES)).status == 202
        assert ran == [PING, PING], "what comes a third time is another"


async def test_every_unanswered_call_of_a_batch_gets_an_error_when_its_owner_dies(valkey: RedisAddress) -> None:
    batch = json.dumps([{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(20)]).encode()
    answers = [b'event: message\r\ndata: {"jsonrpc":"2.0","id":%d,"result":{}}\r\n\r\n' % number for number in range(6)]
    told, hold = asyncio.Event(), asyncio.Event()

    async def own(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for each in answers:
            await send({"type": "http.response.body", "body": each, "more_body": True})
        told.set()
        await hold.wait()

    async with process(valkey) as two:
        client = Client()
        async with process(valkey) as one:
            one._apps[SESSIONS] = own
            asking = asyncio.create_task(
                two._forwarder.forward(one._relay.own, SESSIONS, batch, scope(), client.receive, client.send)
            )
            async with asyncio.timeout(SOON):
                await told.wait()
            await eventually(lambda: client.body.count(b"data: ") == 6)
        two._forwarder.lose(one._relay.own)  # as soon as it is known to have gone
        async with asyncio.timeout(SOON):
            await asking
    events = [json.loads(line[6:]) for line in client.body.decode().split("\r\n") if line.startswith("data: ")]
    assert [each["id"] for each in events] == list(range(20))
    assert [each["id"] for each in events if "error" in each] == list(range(6, 20))


async def test_replayed_relay_request_does_not_run_again(valkey: RedisAddress) -> None:
    """It is replayed while the first runs, and after the answer."""
    gate, ran = asyncio.Event(), list[bytes]()
    async with process(valkey) as one, process(valkey) as two:
        one._apps[MESSAGES] = gated(gate, ran)
        asked = Ask(two._relay.own, 7, MESSAGES, "POST", "/", b"", "http", [], None, None, 0, PING)
        for _ in range(2):
            await two._relay.send(one._relay.own, asked.encode())
        await eventually(lambda: ran)
        gate.set()
        await eventually(lambda: not len(one._served))
        await two._relay.send(one._relay.own, asked.encode())
        await two._relay.send(one._relay.own, replace(asked, number=8, body=b"the next").encode())
        await eventually(lambda: b"the next" in ran)
        assert ran == [PING, b"the next"]
