"""The HTTP application: routes, and in one list what a request passes on its way to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount, Route

from server.config.settings import Settings
from server.identity.scopes import as_issued
from server.transport.http.bounds.admission import Admission
from server.transport.http.bounds.bodies import Bodies
from server.transport.http.bounds.fair_queue import FairQueue, InFairQueue
from server.transport.http.bounds.head_size import BoundedHead
from server.transport.http.connection.counted import CountedRefusals
from server.transport.http.mcp_endpoint import McpEndpoint
from server.transport.http.metadata import RESOURCES, WELL_KNOWN, Challenge, MetadataChallenge, ResourceMetadata
from server.transport.http.middleware import Arrival, Authenticated, Draining, Shortcut, TrustedOrigin
from server.transport.http.origins import AllowedOrigins
from server.transport.http.probes import Probes, Sessions
from server.transport.http.scope_check import ScopeCheck
from server.transport.http.sse import MESSAGES
from server.transport.http.streams import SseEndpoint, SseStreams

if TYPE_CHECKING:
    from server.wiring import Application


@dataclass(frozen=True, slots=True)
class HttpApp:
    """`asgi` serves; `streams` and `endpoint` are at hand for whoever starts and stops it."""

    asgi: Starlette
    streams: SseStreams
    endpoint: McpEndpoint


def http_app(settings: Settings, app: Application, port: int) -> HttpApp:
    """`port` is the one that is listened on, which MANGA_PORT=0 leaves open until then."""
    mcp = app.protocol.mcp
    bodies = Bodies(settings.max_body_bytes)
    challenge, scopes = Challenge(), [tool.scope for tool in app.registry]
    if settings.jwt_issuer is not None:
        challenge = MetadataChallenge(settings.jwt_issuer, scopes)
    scope_check = ScopeCheck(app.identifier, app.registry, challenge) if settings.auth == "jwt" else None
    admission = Admission(app.protocol.subscriptions)
    streams = SseStreams(mcp, settings.max_sse_sessions, bodies, admission, app.metrics.streams)
    endpoint = McpEndpoint(mcp, streams, bodies, admission, settings.max_body_bytes, scope_check)
    probes = Probes(app.lifecycle, app.dependencies, app.metrics)
    sessions = Sessions(app.identifier, app.memory)
    routes = [
        Route("/sse", SseEndpoint(streams), methods=["GET"]),
        Mount(MESSAGES, app=streams.post),
        Route("/mcp", endpoint, methods=["GET", "POST", "DELETE"]),
        Route("/healthz", probes.healthz),
        Route("/readyz", probes.readyz),
        Route("/metrics", probes.metrics),
        Route("/sessions/{session}", sessions.forget, methods=["DELETE"]),
    ]
    if settings.jwt_issuer is not None:
        metadata = ResourceMetadata(settings.jwt_issuer, [as_issued(each, settings.jwt_issuer) for each in scopes])
        routes += [Route(WELL_KNOWN + resource, metadata.document) for resource in RESOURCES]
    queue = FairQueue()
    middleware = [
        Middleware(CountedRefusals, refused=app.metrics.refused),
        Middleware(Arrival),
        Middleware(BoundedHead),
        Middleware(Draining, lifecycle=app.lifecycle),
        Middleware(TrustedOrigin, allowed=AllowedOrigins(settings.host, port, settings.allowed_hosts)),
        Middleware(Authenticated, identifier=app.identifier, challenge=challenge, queue=queue),
        Middleware(InFairQueue, queue=queue, but="/healthz"),
        Middleware(Shortcut, paths={("POST", MESSAGES): streams.post, ("GET", "/sse"): streams.open}),
    ]
    return HttpApp(Starlette(routes=routes, middleware=middleware), streams, endpoint)
