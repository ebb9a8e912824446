"""The HTTP application: routes, and in one list what a request passes on its way to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.config.settings import Settings
from server.transport.http.bodies import Admission, Bodies, BoundedHead, FairQueue, InFairQueue
from server.transport.http.connection import Beside, Upgrades
from server.transport.http.direct_calls import DirectTools
from server.transport.http.metadata import RESOURCES, WELL_KNOWN, Challenge, MetadataChallenge, ResourceMetadata
from server.transport.http.middleware import (
    AllowedOrigins,
    Arrival,
    Authenticated,
    Draining,
    Endpoint,
    Shortcut,
    TrustedOrigin,
)
from server.transport.http.probes import Probes
from server.transport.http.scope_check import ScopeCheck
from server.transport.http.sessions import Sessions
from server.transport.http.sse import SseStreams
from server.transport.http.streamable import McpEndpoint
from server.transport.http.streams import MESSAGES

if TYPE_CHECKING:
    from server.application import Application


FIRST_REFUSAL = 400


class CountedRefusals:
    """Stands in front of all others, so that it sees whatever any of them answers."""

    def __init__(self, app: ASGIApp, refused: Callable[[str], None]) -> None:
        self._app = app
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= FIRST_REFUSAL:
                self._refused(f"http_{message['status']}")
            await send(message)

        await self._app(scope, receive, sending)


Shortcuts = Mapping[tuple[str, str], ASGIApp]


@dataclass(frozen=True, slots=True)
class HttpApp:
    """`asgi` serves; the others are at hand for whoever starts and stops it. `beside` has the `upgrades` among it."""

    asgi: Starlette
    streams: SseStreams
    endpoint: McpEndpoint
    upgrades: Upgrades
    beside: Sequence[Beside]

    def whole(self) -> ASGIApp:
        """Returns what serves all of it."""
        whole: ASGIApp = self.asgi
        for room in self.beside:
            whole = room.around(whole)
        return whole

    async def close_all(self) -> None:
        """Together, because each gives what it has taken a moment, and before that takes nothing more."""
        rooms = (room.close_all() for room in self.beside)
        await asyncio.gather(self.endpoint.sessions.close_all(), self.streams.close_all(), *rooms)


def http_app(
    settings: Settings,
    app: Application,
    port: int,
    probes: Probes | None = None,
    upgrades: Upgrades | None = None,
    rooms: Sequence[Beside] = (),
) -> HttpApp:
    """Puts the application together. `port` is the one that is listened on, which MANGA_PORT=0 leaves open until then;
    `probes` answer for more than this process; `rooms` are served beside it."""
    probes = probes or Probes(app.lifecycle, app.dependencies, app.metrics)
    upgrades = upgrades or Upgrades()
    beside = (*rooms, upgrades)
    challenge, jwt = _challenge(settings, app), settings.auth == "jwt"
    scope_check = ScopeCheck(app.identifier, app.registry, app.primitives, challenge) if jwt else None
    bodies, admission = Bodies(settings.max_body_bytes), Admission(app.protocol.subscriptions, app.protocol.extensions)
    protocol, most = app.protocol, settings.max_sse_sessions
    direct = DirectTools(protocol.call_directly, protocol.list_directly, protocol.knows, protocol.asks)
    gauge, name = app.metrics.streams, app.reach.name
    streams = SseStreams(protocol.mcp, most, bodies, admission, gauge, names=name, direct=direct)
    session_streams = app.protocol.tool_list_changes.streams
    endpoint = McpEndpoint(
        app.protocol.mcp, streams, bodies, admission, settings.max_body_bytes, scope_check, session_streams, direct
    )
    messages = app.reach.messages(streams.post, bodies.read)
    sessions = app.reach.sessions(endpoint, bodies.read)
    further = [route for room in beside for route in room.routes()]
    routes = [*_routes(app, streams, messages, sessions, probes), *_metadata_routes(settings, app), *further]
    shortcuts: Shortcuts = {("POST", MESSAGES): messages, ("GET", "/sse"): streams.open}
    middleware = _middleware(settings, app, port, challenge, shortcuts)
    return HttpApp(Starlette(routes=routes, middleware=middleware), streams, endpoint, upgrades, beside)


def _routes(app: Application, streams: SseStreams, messages: ASGIApp, sessions: ASGIApp, probes: Probes) -> list[BaseRoute]:
    return [
        Route("/sse", Endpoint(streams.open), methods=["GET"]),
        Mount(MESSAGES, app=messages),
        Route("/mcp", Endpoint(sessions), methods=["GET", "POST", "DELETE"]),
        Route("/healthz", probes.healthz),
        Route("/readyz", probes.readyz),
        Route("/metrics", probes.metrics),
        Route("/sessions/{session}", _sessions(app).serve, methods=["GET", "DELETE"]),
    ]


def _sessions(app: Application) -> Sessions:
    return Sessions(app.identifier, app.caller_limits, app.memory, app.pipeline.store.now)


def _middleware(
    settings: Settings, app: Application, port: int, challenge: Challenge, shortcuts: Shortcuts
) -> list[Middleware]:
    """Lists what every request passes, outermost first."""
    queue = FairQueue()
    return [
        Middleware(CountedRefusals, refused=app.metrics.refused),
        Middleware(Arrival),
        Middleware(BoundedHead),
        Middleware(Draining, lifecycle=app.lifecycle),
        Middleware(TrustedOrigin, allowed=AllowedOrigins(settings.host, port, settings.allowed_hosts)),
        Middleware(Authenticated, identifier=app.identifier, challenge=challenge, queue=queue),
        Middleware(InFairQueue, queue=queue, but="/healthz"),
        Middleware(Shortcut, paths=shortcuts),
    ]


def _challenge(settings: Settings, app: Application) -> Challenge:
    if settings.jwt_issuer is None:
        return Challenge()
    return MetadataChallenge(settings.jwt_issuer, partial(_scopes, app))


def _metadata_routes(settings: Settings, app: Application) -> list[BaseRoute]:
    """Serves what tells a client without a token who issues them."""
    issuer = settings.jwt_issuer
    if issuer is None:
        return []
    metadata = ResourceMetadata(issuer, partial(_scopes, app), settings.shop_name)
    return [Route(WELL_KNOWN + resource, metadata.document) for resource in RESOURCES]


def _scopes(app: Application) -> list[str]:
    """Lists what tools, resources and prompts need, each once."""
    read = [each.run.tool.scope for each in app.primitives]
    return list(dict.fromkeys([*(tool.scope for tool in app.registry), *filter(None, read)]))
