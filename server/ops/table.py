"""How the dependencies fare: what `/readyz` knows of each, and what to do, which is what doctor's table says."""

from __future__ import annotations

import asyncio
from typing import Any

from server.ops.advice import for_dependency
from server.runtime.health import Dependencies
from session.resilience.breaker import BreakerState
from session.resilience.tasks import start_task

REFRESH_SECONDS = 30.0
STATUS = {"ok": "ok", "open": "degraded", "half_open": "degraded", "down": "down"}
Json = dict[str, Any]


class Table:
    """Asked behind what is told: each for half a second at most, all of them each half minute, and sooner when a breaker has
    opened or closed. Nobody waits for it."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._states: dict[str, Json] = {}
        self._asked_at = float("-inf")
        self._eras: list[int] = []
        self._asking: asyncio.Task[None] | None = None

    def tick(self) -> None:
        due = self._dependencies.clock() - self._asked_at >= REFRESH_SECONDS or self._eras != self._now()
        if due and self._asking is None:
            self._asked_at, self._eras = self._dependencies.clock(), self._now()
            self._asking = start_task(self._ask(), "ops-dependencies")

    def end(self) -> None:
        if self._asking is not None:
            self._asking.cancel()

    def rows(self) -> list[Json]:
        return [self._row(name) for name in self._dependencies.probes]

    def _row(self, name: str) -> Json:
        known, breaker = self._states.get(name), self._dependencies.probes[name][1]
        status = STATUS.get(known["state"], "unknown") if known else "unknown"
        if status == "ok" and breaker is not None and breaker.state is not BreakerState.CLOSED:
            status = "degraded"
        detail = known.get("detail") if known else None
        return {"name": name, "status": status, "detail": detail, "advice": _advice(name, status)}

    def _now(self) -> list[int]:
        return [breaker.era for _, breaker in self._dependencies.probes.values() if breaker is not None]

    async def _ask(self) -> None:
        try:
            self._states = await self._dependencies.states()
        finally:
            self._asking = None


def _advice(name: str, status: str) -> str | None:
    return for_dependency(name) if status in ("down", "degraded") else None
