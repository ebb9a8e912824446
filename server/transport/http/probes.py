"""What orchestrators and operators ask: does it live, can it answer, how does it fare; and the end of a session."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from server.identity import Identifier
from server.identity.bearer import bearer_of
from server.identity.request_metadata import checked_session, read_metadata
from server.runtime.health import Dependencies
from server.runtime.lifecycle import Lifecycle
from server.telemetry.metrics import Metrics
from session.failures import MemoryUnavailable
from session.memory import SessionMemory
from tools.store.failures import BackendFailure, Failure, Forbidden


class Probes:
    def __init__(self, lifecycle: Lifecycle, dependencies: Dependencies, metrics: Metrics) -> None:
        self._lifecycle = lifecycle
        self._dependencies = dependencies
        self._metrics = metrics

    async def healthz(self, request: Request) -> Response:
        """200 while the process lives; asks nobody."""
        return PlainTextResponse("ok\n")

    async def readyz(self, request: Request) -> Response:
        """200 when calls can be answered, even degraded; 503 while starting or draining."""
        if not self._lifecycle.serves:
            status = "draining" if self._lifecycle.draining else "starting"
            return JSONResponse({"status": status, "dependencies": {}}, 503, {"Retry-After": "1"})
        states = await self._dependencies.states()
        healthy = all(state["state"] == "ok" for state in states.values())
        return JSONResponse({"status": "ready" if healthy else "degraded", "dependencies": states})

    async def metrics(self, request: Request) -> Response:
        return Response(self._metrics.text(), media_type=self._metrics.content_type)


class Sessions:
    """DELETE /sessions/{id}: the agent ends a session, and all that is remembered under it for that user goes.

    The long-term profile is the user's and not the session's: it stays, and each event in it goes by itself half a year
    after it happened (`session.profile.KEPT_DAYS`, the TTL of the table)."""

    def __init__(self, identifier: Identifier, memory: SessionMemory) -> None:
        self._identifier = identifier
        self._memory = memory

    async def forget(self, request: Request) -> Response:
        metadata = read_metadata({}, request.headers)
        try:
            session = checked_session(request.path_params["session"])
            principal = await self._identifier.identify(metadata, bearer_of(request.headers))
        except Failure as failure:
            return JSONResponse({"error": {"name": failure.name, "message": failure.message}}, _status(failure))
        assert session is not None
        try:
            await self._memory.forget(session, principal.user)
        except MemoryUnavailable:
            message = "The session's memory cannot be reached. Try again; it expires by itself after 30 minutes."
            return JSONResponse({"error": {"name": "DEPENDENCY_FAILURE", "message": message}}, 503, {"Retry-After": "1"})
        return Response(status_code=204)


def _status(failure: Failure) -> int:
    if isinstance(failure, BackendFailure):
        return 503
    return 403 if isinstance(failure, Forbidden) else 400
