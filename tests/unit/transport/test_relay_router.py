"""Which requests are served here and which are forwarded; and when a process counts as ended."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.config.settings import Settings
from server.identity.request_metadata import TrustStated
from server.runtime.fleet_key import FleetKey
from server.telemetry.metrics import Metrics
from server.transport.http.sse import SessionRouter
from server.transport.relay import forwarding
from server.transport.relay.carriers import RedisRelay, SocketRelay
from server.transport.relay.port import READY_SECONDS, SESSIONS, Ask, Seal, Unreached
from server.transport.relay.relayed import RelayRouter, open_router
from tests.support.cases import cases
from tests.support.relayed import Client, NotedRelay, follow_virtual_time, scope

pytestmark = pytest.mark.virtual_time

OWNER, OTHER = "0123456789ab", "ba9876543210"


@pytest.fixture(autouse=True)
async def timed(monkeypatch: pytest.MonkeyPatch) -> None:
    follow_virtual_time(monkeypatch, forwarding)


class Own:
    """A process whose own application tells for whom it was asked; `apps` are those for messages and for sessions."""

    def __init__(self, relay: NotedRelay | None = None, patience: float = 60.0) -> None:
        self.relay = relay or NotedRelay()
        self.registry = CollectorRegistry()
        self.router = RelayRouter(self.relay, patience, self.registry, TrustStated())
        self.read: list[str] = []
        self.served: list[Scope] = []
        self.refusal: Response | None = None
        self.apps = self.router.wrap(self._serve, self._serve, self._read)

    async def _read(self, receive: Receive, holder: str, headers: Any) -> bytes | Response:
        self.read.append(holder)
        return self.refusal or b"{}"

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.served.append(scope)
        await Response(b"own", 200, {"Mcp-Session-Id": "inner"})(scope, receive, send)

    async def _wait(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    def peers(self) -> list[float | None]:
        sides = [self.registry.get_sample_value("manga_relay_under_way", {"side": side}) for side in ("asked", "served")]
        return [*sides, self.registry.get_sample_value("manga_relay_peers")]


async def asked(app: Any, **more: Any) -> Client:
    client = Client()
    await app(scope(**more), client.receive, client.send)
    return client


@cases(
    ("ended", "again", "lost"),
    [({OWNER}, {OWNER}, {OWNER}), ({OWNER}, set(), set()), (set(), {OWNER}, set()), ({OWNER}, {OTHER}, set())],
)
async def test_process_is_lost_once_two_looks_in_a_row_find_that_it_has_ended(
    ended: set[str], again: set[str], lost: set[str]
) -> None:
    """It is looked for twice a second, as long as a request of it is under way."""
    own = Own()
    running = asyncio.create_task(own.router.run())
    await asyncio.sleep(5.1)
    assert own.relay.looked == []
    clients = {name: Client() for name in (OWNER, OTHER)}
    forwarded = {
        name: asyncio.create_task(own.router._forwarder.forward(name, SESSIONS, b"{}", scope(), each.receive, each.send))
        for name, each in clients.items()
    }
    served = Ask(OWNER, 1, SESSIONS, "GET", "/mcp", b"", "http", [], None, None, 0, b"")
    own.router._apps[SESSIONS] = own._wait
    own.router._receive(served.encode())
    own.router._receive(replace(served, sender="f" * 12).encode())
    own.relay.ended = ended
    await asyncio.sleep(0.5)
    assert (own.relay.looked, own.peers()) == ([5.5], [2, 2, 3])
    own.relay.ended = again
    await asyncio.sleep(0.5)
    own.relay.ended = set()
    assert own.relay.looked == [5.5, 6.0]
    await asyncio.sleep(0.1)
    assert {name for name, task in forwarded.items() if task.done()} == lost
    assert own.router._served.senders() == {OWNER, "f" * 12} - lost
    own.router._drop_all()
    await asyncio.gather(*forwarded.values())
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await own.router.aclose()


async def test_other_processes_are_those_listed_and_those_with_a_request_under_way() -> None:
    own = Own()
    own.relay.processes = {own.relay.own, OWNER}
    client = Client()
    task = asyncio.create_task(own.router._forwarder.forward(OWNER, SESSIONS, b"", scope(), client.receive, client.send))
    await asyncio.sleep(0.1)
    assert own.router.others() == {OWNER}
    own.relay.processes = {own.relay.own, OTHER}
    assert own.router.others() == {OWNER, OTHER}
    own.router._receive(Ask(OWNER, 1, SESSIONS, "GET", "/", b"", "http", [], None, None, 0, b"").encode())
    assert own.router.others() == {OWNER, OTHER}
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await own.router.aclose()


@cases(
    ("method", "query", "forwards"),
    [
        ("POST", "session_id={own}.x", False),
        ("POST", "session_id={own}.x&session_id=" + OWNER + ".y", False),
        ("POST", "session_id=" + OWNER + ".y&session_id={own}.x", True),
        ("POST", "a=b&session_id=" + OWNER + ".y", True),
        ("GET", "session_id=" + OWNER + ".y", False),
        ("POST", "session_id=y", False),
        ("POST", "", False),
    ],
)
async def test_message_is_forwarded_by_its_first_session_id(method: str, query: str, forwards: bool) -> None:
    own = Own()
    own.relay.fails = lambda frame: Unreached()
    client = await asked(own.apps[0], method=method, query_string=query.format(own=own.relay.own).encode())
    assert (client.status, len(own.read), len(own.served)) == ((503, 1, 0) if forwards else (200, 0, 1))


@cases(
    ("method", "headers", "forwards"),
    [
        ("POST", {"mcp-session-id": f"{OWNER}.y"}, True),
        ("GET", {"mcp-session-id": f"{OWNER}.y", "mcp-protocol-version": "2025-11-25"}, True),
        ("POST", {"mcp-session-id": f"{OWNER}.y", "mcp-protocol-version": "2026-07-28"}, False),
        ("POST", {"mcp-session-id": "y"}, False),
        ("POST", {}, False),
    ],
)
async def test_session_is_forwarded_in_versions_that_have_sessions(
    method: str, headers: dict[str, str], forwards: bool
) -> None:
    """The body of a POST alone is read."""
    own = Own()
    own.relay.fails = lambda frame: Unreached()
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    client = await asked(own.apps[1], method=method, headers=pairs)
    assert client.status == (503 if forwards else 200)
    assert (len(own.read), len(own.served)) == (int(forwards and method == "POST"), int(not forwards))
    own.refusal = Response(status_code=413)
    sent = len(own.relay.sent)
    client = await asked(own.apps[1], method=method, headers=pairs)
    assert client.status == (413 if forwards and method == "POST" else 503 if forwards else 200)
    assert len(own.relay.sent) == sent + int(forwards and method == "GET")


async def test_application_knows_its_session_by_the_inner_name_and_its_client_by_the_whole() -> None:
    own = Own()
    owner, _, inner = (await own.router.new_name()).partition(".")
    assert (owner, len(inner)) == (own.relay.own, len(await SessionRouter().new_name()))
    told: list[Any] = []

    async def send(message: Any) -> None:
        told.extend(message.get("headers", ()))

    name = f"{own.relay.own}.inner.name".encode()
    await own.apps[1](scope(headers=[(b"x", b"inner"), (b"mcp-session-id", name)]), Client().receive, send)
    assert own.served[0]["headers"] == [(b"x", b"inner"), (b"mcp-session-id", b"inner.name")]
    assert dict(told)[b"mcp-session-id"] == f"{own.relay.own}.inner".encode()
    assert dict(told)[b"content-length"] == b"3"


@cases(
    ("headers", "method", "waits"),
    [([], "POST", READY_SECONDS), ([], "GET", 0.0), ([(b"mcp-session-id", b"{own}.x")], "POST", 0.0)],
)
async def test_session_is_opened_once_others_can_reach_this_process(
    headers: list[tuple[bytes, bytes]], method: str, waits: float
) -> None:
    """Or after a quarter of a second for each thing that is missing; that is waited for once."""
    assert READY_SECONDS == 0.25
    own = Own(NotedRelay(asyncio.Event()))
    named = [(name, value.replace(b"{own}", own.relay.own.encode())) for name, value in headers]
    for expected in (waits, waits):
        assert (await asked(own.apps[1], method=method, headers=named)).status == 200
        assert own.relay.now() == expected


async def test_what_has_been_there_is_waited_for_again() -> None:
    first, second = asyncio.Event(), asyncio.Event()
    relay = NotedRelay(first, second)
    for event, now in ((None, 0.5), (None, 0.5), (first, 0.5), (None, 0.75), (second, 0.75)):
        if event is not None:
            event.set()
        await relay.ready()
        assert relay.now() == now
        first.clear()


async def test_end_of_the_router_waits_half_a_second_for_what_it_serves() -> None:
    own = Own()
    own.router._apps[SESSIONS] = own._wait
    own.router._receive(Ask(OWNER, 1, SESSIONS, "GET", "/", b"", "http", [], None, None, 0, b"").encode())
    await asyncio.sleep(1.0)
    await own.router.aclose()
    assert own.relay.now() == 1.5


@cases(
    ("settings", "local", "relay"),
    [
        (Settings(redis_url="redis://127.0.0.1:1"), False, RedisRelay),
        (Settings(redis_url="redis://127.0.0.1:1"), True, None),
        (Settings(redis_url="redis://127.0.0.1:1", relay="off"), False, None),
        (Settings(), False, None),
        (Settings(relay="unix:///tmp/relay"), False, SocketRelay),
        (Settings(relay="unix:///tmp/relay"), True, None),
    ],
)
async def test_relay_is_opened_for_several_processes(settings: Settings, local: bool, relay: type | None) -> None:
    """An owner has a second more than a turn to say that it has a request."""

    class Noted:
        def run(self, name: str, work: Any) -> None:
            begun.append(name)

    begun: list[str] = []
    redis = SimpleNamespace(is_sharded=False)
    env: Any = SimpleNamespace(redis=redis, key=FleetKey("a secret"), identifier=TrustStated(), metrics=Metrics())
    settings, noted = replace(settings, turn_budget_ms=2500), Noted()
    async with AsyncExitStack() as stack:
        opened = open_router(settings, env, stack, noted, local=local)  # type: ignore[arg-type]
        stack.pop_all()
    assert begun == (["relay"] if relay else [])
    if relay is None:
        assert type(opened) is SessionRouter
        return
    assert isinstance(opened, RelayRouter)
    assert type(opened._relay) is relay
    assert opened._forwarder._patience_seconds == 3.5
    if isinstance(opened._relay, SocketRelay):
        assert opened._relay._folder == Path("/tmp/relay")
    else:
        assert isinstance(opened._relay._seal, Seal)
