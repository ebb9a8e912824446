"""What orchestrators and operators ask: does it live, can it answer, how does it fare."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from server.runtime.health import Dependencies
from server.runtime.lifecycle import Lifecycle
from server.telemetry.metrics import Metrics


class Probes:
    """None of them needs a token."""

    def __init__(self, lifecycle: Lifecycle, dependencies: Dependencies, metrics: Metrics) -> None:
        self._lifecycle = lifecycle
        self._dependencies = dependencies
        self._metrics = metrics

    async def healthz(self, request: Request) -> Response:
        """Answers 200 while the process lives; asks nobody."""
        return PlainTextResponse("ok\n")

    async def readyz(self, request: Request) -> Response:
        """Answers 200 when calls can be answered, even degraded; 503 while starting or draining."""
        if not self._lifecycle.serves:
            status = "draining" if self._lifecycle.draining else "starting"
            return JSONResponse({"status": status, "dependencies": {}}, 503, {"Retry-After": "1"})
        states = await self._dependencies.states()
        healthy = all(state["state"] == "ok" for state in states.values())
        return JSONResponse({"status": "ready" if healthy else "degraded", "dependencies": states})

    async def metrics(self, request: Request) -> Response:
        return Response(self._metrics.text(), media_type=self._metrics.content_type)
