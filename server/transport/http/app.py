"""The HTTP application: its routes, and the addons served beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from server.config.settings import Settings
from server.transport.http.authorization import RESOURCES, WELL_KNOWN, Challenge, ScopeCheck
from server.transport.http.bodies import Admission, Bodies
from server.transport.http.connection import Connections
from server.transport.http.middleware import AllowedOrigins, Endpoint, Gate
from server.transport.http.probes import Probes
from server.transport.http.sessions import Sessions
from server.transport.http.sse import SseStreams
from server.transport.http.streamable import McpEndpoint
from server.transport.http.streams import MESSAGES

if TYPE_CHECKING:
    from server.application import Application


class Addon:
    """A capability that is served beside MCP."""

    def routes(self) -> list[BaseRoute]:
        """Returns its routes, which are behind the same gate."""
        return []

    def wrap(self, asgi: ASGIApp) -> ASGIApp:
        """Returns what serves the requests of both."""
        return asgi

    async def close_all(self) -> None:
        """Ends open connections."""


class Upgrades(Addon):
    """Requests that become connections of another protocol. `most` is the number of those, beside HTTP's."""

    most: int = 0

    def options(self, connections: Connections) -> dict[str, Any]:
        """Returns options of uvicorn."""
        return {"ws": "none"}


@dataclass(frozen=True, slots=True)
class HttpApp:
    """`asgi` serves; the rest is for starting and stopping it. `addons` contain the `upgrades`."""

    asgi: Starlette
    streams: SseStreams
    endpoint: McpEndpoint
    upgrades: Upgrades
    addons: Sequence[Addon]

    def whole(self) -> ASGIApp:
        """Returns what serves MCP and all addons."""
        whole: ASGIApp = self.asgi
        for addon in self.addons:
            whole = addon.wrap(whole)
        return whole

    async def close_all(self) -> None:
        """Closes all together: each refuses new work, and gives accepted work a moment."""
        addons = (addon.close_all() for addon in self.addons)
        await asyncio.gather(self.endpoint.sessions.close_all(), self.streams.close_all(), *addons)


def http_app(
    settings: Settings,
    app: Application,
    port: int,
    probes: Probes | None = None,
    upgrades: Upgrades | None = None,
    addons: Sequence[Addon] = (),
) -> HttpApp:
    """Assembles the application. `port` is the one that is listened on, which MANGA_PORT=0 leaves open until then; `probes`
    may answer for more than this process."""
    probes = probes or Probes(app.lifecycle, app.dependencies, app.metrics)
    upgrades = upgrades or Upgrades()
    addons = (*addons, upgrades)
    protocol, reach = app.protocol, app.reach
    challenge = Challenge(settings.jwt_issuer, lambda: _scopes(app), settings.shop_name)
    scope_check = ScopeCheck(app.identifier, app.registry, app.primitives, challenge) if settings.auth == "jwt" else None
    bodies, admission = Bodies(settings.max_body_bytes), Admission(protocol.subscriptions, protocol.extensions)
    streams = SseStreams(
        protocol.mcp,
        settings.max_sse_sessions,
        bodies,
        admission,
        app.metrics.streams,
        new_name=reach.new_name,
        direct=protocol.direct,
    )
    endpoint = McpEndpoint(
        protocol.mcp,
        streams,
        bodies,
        admission,
        settings.max_body_bytes,
        scope_check,
        protocol.tool_list_changes.streams,
        protocol.direct,
    )
    messages = reach.wrap_messages(streams.post, bodies.read)
    sessions = Sessions(app.identifier, app.caller_limits, app.memory, app.pipeline.store.now)
    metadata = [Route(WELL_KNOWN + each, challenge.document) for each in RESOURCES] if settings.jwt_issuer else []
    routes = [
        Route("/sse", Endpoint(streams.open), methods=["GET"]),
        Mount(MESSAGES, app=messages),
        Route("/mcp", Endpoint(reach.wrap_sessions(endpoint, bodies.read)), methods=["GET", "POST", "DELETE"]),
        Route("/healthz", probes.healthz),
        Route("/readyz", probes.readyz),
        Route("/metrics", probes.metrics),
        Route("/sessions/{session}", sessions.serve, methods=["GET", "DELETE"]),
        *metadata,
        *(route for addon in addons for route in addon.routes()),
    ]
    gate = Middleware(
        Gate,
        lifecycle=app.lifecycle,
        allowed=AllowedOrigins(settings.host, port, settings.allowed_hosts),
        identifier=app.identifier,
        challenge=challenge,
        shortcuts={("POST", MESSAGES): messages, ("GET", "/sse"): streams.open},
        refused=app.metrics.count_refusal,
    )
    return HttpApp(Starlette(routes=routes, middleware=[gate]), streams, endpoint, upgrades, addons)


def _scopes(app: Application) -> list[str]:
    """Returns the scopes of all tools, resources and prompts, each once."""
    primitives = [each.run.tool.scope for each in app.primitives]
    return list(dict.fromkeys([*(tool.scope for tool in app.registry), *filter(None, primitives)]))
