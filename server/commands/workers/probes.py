"""The probes of all workers, whichever of them is asked."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from server.commands.workers.peers import Peers
from server.commands.workers.sums import Families, added_up, continued, families_of, only_counts, text_of
from server.runtime.health import Dependencies
from server.runtime.lifecycle import Lifecycle
from server.telemetry.metrics import Metrics
from server.transport.http.probes import SERVES, Probes, Readiness, status_of

State = dict[str, Any]


class SharedProbes(Probes):
    """A worker that is away for a moment makes the server degraded, and not unready: the others answer."""

    def __init__(self, lifecycle: Lifecycle, dependencies: Dependencies, metrics: Metrics, peers: Peers) -> None:
        super().__init__(lifecycle, dependencies, metrics)
        self._peers = peers
        self._inherited: Families | None = None

    async def own_readiness(self) -> Readiness:
        return await super().readiness()

    async def readiness(self) -> Readiness:
        """Ready with the worst that any worker says of each dependency; not ready when none serves, or this one ends."""
        began = time.monotonic()
        told = await self._peers.ask_all("readiness")
        own, serving = await self.own_readiness(), [each for each in told.values() if each and each["status"] in SERVES]
        if not serving or own["status"] not in SERVES:
            return own
        states = _worst([each["dependencies"] for each in serving])
        states["workers"] = {
            "state": "ok" if len(serving) == len(told) else "down",
            "latency_ms": round((time.monotonic() - began) * 1000, 2),
            "detail": f"{len(serving)} of {len(told)} serve",
        }
        return {"status": status_of(states), "dependencies": states}

    async def own_metrics(self) -> Families:
        """Goes on from what the predecessor told last, so that a count never falls when a worker dies: whoever reads them
        would take all of the others' for new."""
        path = self._peers.last_told("metrics", self._peers.number)
        if self._inherited is None:
            self._inherited = await asyncio.to_thread(_kept, path)
        told = continued(families_of(self._metrics.registry), self._inherited)
        await asyncio.to_thread(_keep, path, told)
        return told

    async def metrics(self, request: Request) -> Response:
        told = await self._peers.ask_all("metrics")
        for number, each in told.items():
            if each is None:
                told = {**told, number: await asyncio.to_thread(_kept, self._peers.last_told("metrics", number))}
        return Response(text_of(added_up(list(told.values()))), media_type=self._metrics.content_type)


def _worst(told: list[Mapping[str, State]]) -> dict[str, State]:
    """Of each dependency the state that is not well, if there is one; else the slowest."""
    worst: dict[str, State] = {}
    for states in told:
        for name, state in states.items():
            worst[name] = max(worst.get(name, state), state, key=lambda each: (each["state"] != "ok", each["latency_ms"]))
    return worst


def _kept(path: Path) -> Families:
    try:
        return only_counts(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError):
        return []


def _keep(path: Path, told: Families) -> None:
    try:
        beside = path.with_suffix(".new")
        beside.write_text(json.dumps(told), "utf-8")
        beside.replace(path)
    except OSError:
        return
