"""The probes of orchestrators and operators: liveness, readiness, metrics. None needs a token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from server.runtime.health import Dependencies
from server.runtime.lifecycle import Lifecycle
from server.telemetry.metrics import Metrics
from server.version import CONTRACT, VERSION

SERVES = ("ready", "degraded")
Readiness = dict[str, Any]


class Probes:
    def __init__(self, lifecycle: Lifecycle, dependencies: Dependencies, metrics: Metrics) -> None:
        self._lifecycle = lifecycle
        self._dependencies = dependencies
        self._metrics = metrics

    async def healthz(self, request: Request) -> Response:
        """Answers 200 while the process lives; asks no backend."""
        return PlainTextResponse("ok\n")

    async def readyz(self, request: Request) -> Response:
        """Answers 200 when calls can be answered, even degraded; 503 while starting or draining."""
        readiness = await self.readiness() | {"version": VERSION, "contract": CONTRACT}
        if readiness["status"] in SERVES:
            return JSONResponse(readiness)
        return JSONResponse(readiness, 503, {"Retry-After": "1"})

    async def readiness(self) -> Readiness:
        """Returns `{status, dependencies}`."""
        if self._lifecycle.draining or not self._lifecycle.wired:
            return {"status": "draining" if self._lifecycle.draining else "starting", "dependencies": {}}
        states = await self._dependencies.states()
        return {"status": status_of(states) if self._lifecycle.serves else "starting", "dependencies": states}

    async def metrics(self, request: Request) -> Response:
        text, content_type = self._metrics.text_for(request.headers.get("accept", ""))
        return Response(text, media_type=content_type)


def status_of(states: Mapping[str, Mapping[str, Any]]) -> str:
    return "ready" if all(state["state"] == "ok" for state in states.values()) else "degraded"
