"""The HTTP application: routes, health probes, session histories, and addons."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from server.config.settings import Settings
from server.identity.caller_limits import Caller, CallerLimits
from server.identity.request_metadata import Identifier, bearer_of, checked_session, read_metadata
from server.runtime.health import Dependencies
from server.runtime.lifecycle import Lifecycle
from server.telemetry.metrics import Metrics
from server.transport.http.authorization import RESOURCES, WELL_KNOWN, Challenge, ScopeCheck
from server.transport.http.bodies import Admission, Bodies
from server.transport.http.connection import Connections
from server.transport.http.middleware import AllowedOrigins, Endpoint, Gate
from server.transport.http.sse import SseStreams
from server.transport.http.streamable import McpEndpoint
from server.transport.http.streams import MESSAGES
from server.version import CONTRACT, VERSION
from session.failures import MemoryUnavailable
from session.history import MOST_CALLS, HistoryEntry, Recollection
from session.memory import SessionMemory
from session.resilience.clocks import Now
from tools.results.history import select_relevant, summarise
from tools.store.failures import BackendFailure, Failure, Forbidden, InvalidArguments, RateLimited, Violation

if TYPE_CHECKING:
    from server.application import Application

Json = dict[str, Any]
LONGEST_QUERY = 500
MOST_BEARING = 5
"""Default of the maximum number of calls that are returned for a query."""
GOES_BY_ITSELF = "The session's memory cannot be reached. Try again; it expires by itself after 30 minutes."
NOT_READ = "The session's memory cannot be reached. Try again in a moment."
SERVES = ("ready", "degraded")
Readiness = dict[str, Any]


@dataclass(eq=False)
class Sessions:
    """Serves `/sessions/{session}` to callers that may call tools in the session. Each user sees only their own data.

    GET returns the history: `?query=` selects relevant calls, `?calls=` limits their number (1 to 20). DELETE removes the
    session's data of the user, but not the user's long-term profile. Failures are 400, 403, 429 or 503."""

    identifier: Identifier
    limits: CallerLimits
    memory: SessionMemory
    now: Now

    async def serve(self, request: Request) -> Response:
        is_delete = request.method == "DELETE"
        try:
            session, user = await self._identify(request)
            if is_delete:
                await self.memory.forget(session, user)
                return Response(status_code=204)
            query, most = _read_parameters(request.query_params)
            past = await self.memory.recall(session, user)
        except Failure as failure:
            wait_s = -(-(failure.retry_after_ms or 0) // 1000)
            error = {"name": failure.name, "message": failure.message}
            return JSONResponse({"error": error}, _status(failure), {"Retry-After": str(wait_s)} if wait_s else None)
        except MemoryUnavailable:
            error = {"name": "DEPENDENCY_FAILURE", "message": GOES_BY_ITSELF if is_delete else NOT_READ}
            return JSONResponse({"error": error}, 503, {"Retry-After": "1"})
        calls = select_relevant(past.calls, most, query) if query else past.calls[:most]
        body = _dump(past, calls) | {"session_id": session, "summary": summarise(past, calls, self.now().timestamp())}
        return JSONResponse(body, headers={"Cache-Control": "no-store"})

    async def _identify(self, request: Request) -> tuple[str, str | None]:
        session = checked_session(request.path_params["session"])
        assert session is not None
        principal = await self.identifier.identify(read_metadata({}, request.headers), bearer_of(request.headers))
        address = request.client.host if request.client else None
        caller = Caller(principal.user, session, address=address, vouched=principal.is_proven)
        self.limits.admit(caller)
        if wait_ms := self.limits.charge_refusal(caller):
            raise RateLimited("Too many requests. Wait a moment.", retry_after_ms=wait_ms)
        return session, principal.user


def _read_parameters(parameters: Mapping[str, str]) -> tuple[str, int]:
    query = parameters.get("query", "")
    calls = parameters.get("calls", str(MOST_BEARING if query else MOST_CALLS))
    violations = []
    if len(query) > LONGEST_QUERY:
        violations.append(Violation("query", "maxLength", "it is too long", f"use at most {LONGEST_QUERY} characters"))
    if not re.fullmatch("[0-9]{1,2}", calls) or not 1 <= int(calls) <= MOST_CALLS:
        mend = f"use a whole number from 1 to {MOST_CALLS}"
        violations.append(Violation("calls", "format", "it is not a number in range", mend))
    if violations:
        raise InvalidArguments(violations)
    return query, int(calls)


def _dump(past: Recollection, calls: Sequence[HistoryEntry]) -> Json:
    last = past.last_shown
    shown = last and {
        "by": last.by,
        "query": last.query,
        "titles": [{"title_id": i, "title": title} for i, title in zip(last.title_ids, last.titles, strict=False)],
    }
    entries = [call.as_dict() for call in calls]
    return {"calls": entries, "totals": dict(past.totals), "last_shown": shown, "shared": dict(past.shared)}


def _status(failure: Failure) -> int:
    if isinstance(failure, BackendFailure):
        return 503
    if isinstance(failure, RateLimited):
        return 429
    return 403 if isinstance(failure, Forbidden) else 400


class Probes:
    def __init__(self, lifecycle: Lifecycle, dependencies: Dependencies, metrics: Metrics) -> None:
        self._lifecycle = lifecycle
        self._dependencies = dependencies
        self._metrics = metrics

    async def healthz(self, request: Request) -> Response:
        """Answers 200 while the process lives, without asking a backend."""
        return PlainTextResponse("ok\n")

    async def readyz(self, request: Request) -> Response:
        """Answers 200 if calls can be answered, even degraded, and 503 while the server starts or drains."""
        readiness = await self.readiness() | {"version": VERSION, "contract": CONTRACT}
        if readiness["status"] in SERVES:
            return JSONResponse(readiness)
        return JSONResponse(readiness, 503, {"Retry-After": "1"})

    async def readiness(self) -> Readiness:
        """Returns `status` ("ready", "degraded", "starting" or "draining") and the state of each of the `dependencies`."""
        if self._lifecycle.draining:
            return {"status": "draining", "dependencies": {}}
        states = await self._dependencies.states()
        return {"status": status_of(states) if self._lifecycle.serves else "starting", "dependencies": states}

    async def metrics(self, request: Request) -> Response:
        text, content_type = self._metrics.text_for(request.headers.get("accept", ""))
        return Response(text, media_type=content_type)


def status_of(states: Mapping[str, Mapping[str, Any]]) -> str:
    return "ready" if all(state["state"] == "ok" for state in states.values()) else "degraded"


class Addon:
    """A service beside MCP on the same HTTP server. `most` is the maximum number of its connections that switch from HTTP to
    another protocol, in addition to the maximum of HTTP connections."""

    most: int = 0

    def routes(self) -> list[BaseRoute]:
        """Returns the addon's routes, whose requests pass the same checks as MCP's."""
        return []

    def wrap(self, asgi: ASGIApp) -> ASGIApp:
        """Returns an application that serves the addon's requests and passes all others to `asgi`."""
        return asgi

    def options(self, connections: Connections) -> dict[str, Any]:
        """Returns options for uvicorn's configuration, by which upgraded connections count in `connections`.
        `server.commands.serve` uses those of one addon only."""
        return {"ws": "none"}

    async def close_all(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class HttpApp:
    """The assembled HTTP application. `asgi` serves the addons too."""

    asgi: ASGIApp
    streams: SseStreams
    endpoint: McpEndpoint
    addons: Sequence[Addon]

    async def close_all(self) -> None:
        """Closes sessions, streams and addons concurrently. New work is refused, and accepted work gets a moment to end."""
        addons = (addon.close_all() for addon in self.addons)
        await asyncio.gather(self.endpoint.sessions.close_all(), self.streams.close_all(), *addons)


def http_app(settings: Settings, app: Application, port: int, probes: Probes, addons: Sequence[Addon] = ()) -> HttpApp:
    """Assembles the HTTP application. `port` is the port in use, which the system chooses if the setting is 0. `probes` may
    report on more than this process."""
    protocol, reach = app.protocol, app.reach
    challenge = Challenge(settings.jwt_issuer, lambda: _scopes(app), settings.shop_name)
    scope_check = ScopeCheck(app.identifier, app.registry, app.primitives, challenge) if settings.auth == "jwt" else None
    bodies, admission = Bodies(settings.max_body_bytes), Admission(protocol.subscriptions, protocol.extensions)
    most, gauge = settings.max_sse_sessions, app.metrics.streams
    streams = SseStreams(protocol.mcp, most, bodies, admission, gauge, new_name=reach.new_name)
    session_streams = protocol.tool_list_changes.streams
    endpoint = McpEndpoint(streams, settings.max_body_bytes, scope_check, session_streams, protocol.direct)
    messages, mcp = reach.wrap(streams.post, endpoint, bodies.read)
    sessions = Sessions(app.identifier, app.caller_limits, app.memory, app.pipeline.store.now)
    metadata = [Route(WELL_KNOWN + each, challenge.document) for each in RESOURCES] if settings.jwt_issuer else []
    routes = [
        Route("/sse", Endpoint(streams.open), methods=["GET"]),
        Mount(MESSAGES, app=messages),
        Route("/mcp", Endpoint(mcp), methods=["GET", "POST", "DELETE"]),
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
    asgi: ASGIApp = Starlette(routes=routes, middleware=[gate])
    for addon in addons:
        asgi = addon.wrap(asgi)
    return HttpApp(asgi, streams, endpoint, addons)


def _scopes(app: Application) -> list[str]:
    primitives = [each.run.tool.scope for each in app.primitives]
    return list(dict.fromkeys([*(tool.scope for tool in app.registry), *filter(None, primitives)]))
