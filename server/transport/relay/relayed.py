from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import parse_qs, urlsplit

from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from prometheus_client import CollectorRegistry, Gauge
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.config.settings import Settings
from server.identity.request_metadata import Identifier
from server.runtime.lifecycle import Background
from server.transport.http.slots import holder_of
from server.transport.http.sse import Read, SessionRouter
from server.transport.relay.carriers import RedisRelay, SocketRelay
from server.transport.relay.forwarding import Forwarder
from server.transport.relay.port import MESSAGES, NAME, SESSIONS, Ack, Ask, Cancel, Part, Progress, Relay, Seal, decode
from server.transport.relay.serving import ForwardedRequests

if TYPE_CHECKING:
    from server.application import Environment


def split_name(name: str) -> tuple[str | None, str]:
    """Splits a session's name `owner.inner`; `owner` names the process that holds the session, None if not there."""
    owner, dot, inner = name.partition(".")
    return (owner, inner) if dot and NAME.fullmatch(owner) else (None, name)


WATCH_SECONDS = 0.5
"""Seconds between checks of the processes with open requests. Two checks in a row must find that a process has ended."""
ID = b"mcp-session-id"
GRACE_SECONDS = 1.0
"""Seconds beyond a turn's budget within which an owner must respond; after them the owner counts as unreached."""


class RelayRouter(SessionRouter):
    """Serves requests for sessions of this process, and forwards those for sessions of other processes over a relay. The
    process that holds a session (its owner) must respond within `patience_seconds`."""

    def __init__(self, relay: Relay, patience_seconds: float, registry: CollectorRegistry, identifier: Identifier) -> None:
        self._relay, self.own = relay, relay.own
        self._apps: dict[str, ASGIApp] = {}
        self._forwarder = Forwarder(relay, patience_seconds, registry, identifier)
        self._served = ForwardedRequests(relay, self._apps)
        about = "Requests passed on, asked here and served here."
        under_way = Gauge("manga_relay_under_way", about, ["side"], registry=registry)
        under_way.labels("asked").set_function(lambda: len(self._forwarder))
        under_way.labels("served").set_function(lambda: len(self._served))
        peers = Gauge("manga_relay_peers", "Processes with which a request is under way.", registry=registry)
        peers.set_function(lambda: len(self._peers()))

    def others(self) -> set[str]:
        return (self._peers() | self._relay.list_processes()) - {self._relay.own}

    async def new_name(self) -> str:
        await self._relay.ready()
        return f"{self._relay.own}.{await super().new_name()}"

    def wrap(self, messages: ASGIApp, sessions: ASGIApp, read: Read) -> tuple[ASGIApp, ASGIApp]:
        self._apps.update({MESSAGES: messages, SESSIONS: partial(self._serve_own, sessions)})
        return partial(self._route_message, read), partial(self._route_session, read)

    async def run(self) -> None:
        """Receives messages from other processes and detects when they end, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._relay.run(self._receive, self._drop_all), name="relay-hear")
            group.create_task(self._watch(), name="relay-watch")

    async def aclose(self) -> None:
        await self._forwarder.aclose()
        await self._relay.aclose()
        await self._served.aclose(0.5)

    async def _route_message(self, read: Read, scope: Scope, receive: Receive, send: Send) -> None:
        values = parse_qs(scope["query_string"].decode("latin-1")).get("session_id", [""])
        owner = split_name(values[0])[0] if scope["method"] == "POST" else None
        await self._route(owner, MESSAGES, read, scope, receive, send)

    async def _route_session(self, read: Read, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        version = headers.get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION)
        owner = split_name(headers.get("mcp-session-id", ""))[0] if version in HANDSHAKE_PROTOCOL_VERSIONS else None
        await self._route(owner, SESSIONS, read, scope, receive, send)

    async def _serve_own(self, own: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a session of this process. The application knows its `inner` name only, and clients the whole one."""
        owner, inner = split_name(Headers(scope=scope).get("mcp-session-id", ""))
        if owner is not None:
            headers = [(name, inner.encode("latin-1") if name == ID else value) for name, value in scope["headers"]]
            scope = {**scope, "headers": headers}
        elif scope["method"] == "POST":
            await self._relay.ready()

        async def send_renamed(message: Message) -> None:
            if message["type"] == "http.response.start":
                own_name = self._relay.own.encode()
                pairs = [(name, b"%b.%b" % (own_name, value) if name == ID else value) for name, value in message["headers"]]
                message = {**message, "headers": pairs}
            await send(message)

        await own(scope, receive, send_renamed)

    async def _route(self, owner: str | None, to: str, read: Read, scope: Scope, receive: Receive, send: Send) -> None:
        if owner is None or owner == self._relay.own:
            await self._apps[to](scope, receive, send)
            return
        body = await read(receive, holder_of(scope), scope["headers"]) if scope["method"] == "POST" else b""
        if isinstance(body, Response):
            await body(scope, receive, send)
        else:
            await self._relay.ready()  # or the answer could arrive before this process listens
            await self._forwarder.forward(owner, to, body, scope, receive, send)

    def _receive(self, message: bytes) -> None:
        match decode(message):
            case Ask() as ask:
                self._served.begin(ask)
            case Cancel() as left:
                self._served.leave(left)
            case Progress() as progress:
                self._served.note_progress(progress)
            case Ack() as taken:
                self._forwarder.acknowledge(taken)
            case Part() as part:
                self._forwarder.add_part(part)

    def _drop_all(self) -> None:
        """Gives up forwarded requests, and ends streams served for others: left open, they would block their next ones."""
        self._forwarder.lose()
        self._served.lose()

    def _peers(self) -> set[str]:
        return self._forwarder.owners() | self._served.senders()

    async def _watch(self) -> NoReturn:
        before: set[str] = set()
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            peers = self._peers()
            gone = await self._relay.find_ended(peers) if peers else set()
            for name in gone & before:
                self._forwarder.lose(name)
                self._served.lose(name)
            before = gone


def open_router(
    settings: Settings, env: Environment, stack: AsyncExitStack, background: Background, *, local: bool
) -> SessionRouter:
    """Returns the router of a relay that `stack` closes. Returns a plain `SessionRouter` if the relay is off, if `local` is
    True (stdio), or if Redis is embedded and the relay has no Unix sockets."""
    relay: Relay
    if local or settings.relay == "off":
        return SessionRouter()
    if settings.relay.startswith("unix:"):
        relay = SocketRelay(Path(urlsplit(settings.relay).path))
    elif settings.redis_url.startswith("embedded"):
        return SessionRouter()
    else:
        relay = RedisRelay(env.redis, time.monotonic, Seal(env.key))
    reach = RelayRouter(relay, settings.turn_budget_ms / 1000 + GRACE_SECONDS, env.metrics.registry, env.identifier)
    background.run("relay", reach.run)
    stack.push_async_callback(reach.aclose)
    return reach
