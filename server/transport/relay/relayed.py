"""The sessions of all replicas: those of this process are served here, all others where they are."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import NoReturn
from urllib.parse import parse_qs, urlsplit

from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from prometheus_client import CollectorRegistry
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.config.settings import Settings
from server.identity import Identifier
from server.runtime.background import Background
from server.runtime.fleet_key import FleetKey
from server.transport.http.reach import OwnSessions, Reach, Read
from server.transport.http.slots import holder_of
from server.transport.relay.asking import Asking
from server.transport.relay.frames import MESSAGES, SESSIONS, Ask, Left, Taken, decoded
from server.transport.relay.over_redis import RedisRelay
from server.transport.relay.over_sockets import SocketRelay
from server.transport.relay.port import NAME, Counts, Relay, SealedRelay
from server.transport.relay.serving import Serving
from session.redis.subscriber import Redis


def named(owner: str, inner: str) -> str:
    return f"{owner}.{inner}"


def parted(name: str) -> tuple[str | None, str]:
    """Tells owner and inner name; None for the owner of what names none."""
    owner, dot, inner = name.partition(".")
    return (owner, inner) if dot and NAME.fullmatch(owner) else (None, name)


WATCH_SECONDS = 0.5
"""How often it is asked whether those still live with whom there is something open; twice no is no."""
CLOSE_SECONDS = 0.5
ID = b"mcp-session-id"
VERSION = b"mcp-protocol-version"


class Relayed:
    """A `Reach` over a relay. An answer that has not begun after `patience_seconds` is waited for no longer."""

    def __init__(self, relay: Relay, patience_seconds: float, counts: Counts, identifier: Identifier) -> None:
        self._relay = relay
        self._apps: dict[str, ASGIApp] = {}
        self._asking = Asking(relay, patience_seconds, counts, identifier)
        self._serving = Serving(relay, self._apps)
        counts.watch(lambda: len(self._asking), lambda: len(self._serving), lambda: len(self._concerned()))

    @property
    def own(self) -> str:
        return self._relay.own

    def others(self) -> set[str]:
        return (self._concerned() | self._relay.known()) - {self._relay.own}

    async def name(self) -> str:
        await self._relay.ready()
        return named(self._relay.own, secrets.token_hex(16))

    def messages(self, own: ASGIApp, read: Read) -> ASGIApp:
        self._apps[MESSAGES] = own
        return partial(self._message, own, read)

    def sessions(self, own: ASGIApp, read: Read) -> ASGIApp:
        renamed = self._apps[SESSIONS] = partial(self._own_session, own)
        return partial(self._session, renamed, read)

    async def keep(self) -> None:
        """Listens to the others, and for their end, until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._relay.keep(self._hear, self._missed), name="relay-hear")
            group.create_task(self._watch(), name="relay-watch")

    async def aclose(self) -> None:
        await self._asking.aclose()
        await self._relay.aclose()
        await self._serving.aclose(CLOSE_SECONDS)

    async def _message(self, own: ASGIApp, read: Read, scope: Scope, receive: Receive, send: Send) -> None:
        values = parse_qs(scope["query_string"].decode("latin-1")).get("session_id", [""])
        owner, _ = parted(values[0])
        if owner in (None, self._relay.own) or scope["method"] != "POST":
            await own(scope, receive, send)
        else:
            await self._pass_on(owner, MESSAGES, read, scope, receive, send)

    async def _session(self, own: ASGIApp, read: Read, scope: Scope, receive: Receive, send: Send) -> None:
        owner, _ = parted(_said(scope, ID, ""))
        stateless = _said(scope, VERSION, DEFAULT_NEGOTIATED_VERSION) not in HANDSHAKE_PROTOCOL_VERSIONS
        if owner in (None, self._relay.own) or stateless:
            await own(scope, receive, send)
        else:
            await self._pass_on(owner, SESSIONS, read, scope, receive, send)

    async def _own_session(self, own: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """The application calls its sessions by their inner names, the clients by the whole ones."""
        owner, inner = parted(_said(scope, ID, ""))
        if owner is not None:
            headers = [(name, inner.encode("latin-1") if name == ID else value) for name, value in scope["headers"]]
            scope = {**scope, "headers": headers}
        elif scope["method"] == "POST":
            await self._relay.ready()
        await own(scope, receive, partial(self._renaming, send))

    async def _renaming(self, send: Send, message: Message) -> None:
        if message["type"] == "http.response.start":
            own = self._relay.own.encode()
            headers = [(name, b"%b.%b" % (own, value) if name == ID else value) for name, value in message["headers"]]
            message = {**message, "headers": headers}
        await send(message)

    async def _pass_on(self, owner: str | None, to: str, read: Read, scope: Scope, receive: Receive, send: Send) -> None:
        assert owner is not None
        body = await read(receive, holder_of(scope), scope["headers"]) if scope["method"] == "POST" else b""
        if isinstance(body, Response):
            await body(scope, receive, send)
        else:
            await self._relay.ready()  # or the answer comes while nobody here listens yet, as in a process that just began
            await self._asking.pass_on(owner, to, body, scope, receive, send)

    def _hear(self, message: bytes) -> None:
        match decoded(message):
            case Ask() as ask:
                self._serving.heard(ask)
            case Left() as left:
                self._serving.left(left)
            case Taken() as taken:
                self._asking.taken(taken)
            case None:
                pass
            case part:
                if not self._asking.heard(part):
                    self._asking.refuse(part)

    def _missed(self) -> None:
        """What may be lost is given up on both sides: a stream that only its owner still has would keep its client out."""
        self._asking.lose()
        self._serving.lose()

    def _concerned(self) -> set[str]:
        """Returns those with whom something is open."""
        return self._asking.owners() | self._serving.senders()

    async def _watch(self) -> NoReturn:
        before: set[str] = set()
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            concerned = self._concerned()
            gone = await self._relay.gone(concerned) if concerned else set()
            for name in gone & before:
                self._asking.lose(name)
                self._serving.lose(name)
            before = gone


def _said(scope: Scope, name: bytes, default: str) -> str:
    return next((value.decode("latin-1") for each, value in scope["headers"] if each == name), default)


GRACE_SECONDS = 1.0
"""Beyond a turn, within which its owner answers a request: nobody waits longer for one that was lost on the way."""


def open_reach(
    settings: Settings,
    redis: Redis,
    key: FleetKey,
    identifier: Identifier,
    stack: AsyncExitStack,
    background: Background,
    registry: CollectorRegistry,
    *,
    local: bool,
) -> Reach:
    """Listens until the stack closes; where there is no other process to be reached, there is nothing to open. `local` is
    for stdio, whose only session is its own."""
    relay = None if local else _relay(settings, redis, key)
    if relay is None:
        return OwnSessions()
    relayed = Relayed(relay, settings.turn_budget_ms / 1000 + GRACE_SECONDS, Counts(registry), identifier)
    background.run("relay", relayed.keep)
    stack.push_async_callback(relayed.aclose)
    return relayed


def _relay(settings: Settings, redis: Redis, key: FleetKey) -> Relay | None:
    if settings.relay.startswith("unix:"):
        return SocketRelay(Path(urlsplit(settings.relay).path))
    if settings.relay == "off" or settings.redis_url.startswith("embedded"):
        return None
    return SealedRelay(RedisRelay(redis, time.monotonic), key)
