"""A worker: its connections come from its supervisor, and it answers probes for all workers."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from server.backends import Shared, open_ports
from server.commands.serve import Listening
from server.commands.workers.channel import Peers, Report, WorkerEnd
from server.config.settings import Settings
from server.runtime.health import Dependencies
from server.runtime.lifecycle import Lifecycle
from server.telemetry.metrics import Metrics
from server.transport.http.probes import SERVES, Probes, Readiness, status_of
from session.resilience.tasks import start_task

if TYPE_CHECKING:
    from server.application import Application
    from server.commands.serve import PatientServer


Families = list[dict[str, Any]]
"""Metric families as JSON: name, type, about, and samples of [name, pairs of labels, value]."""
COUNTS = ("counter", "histogram")
LEAST = ("manga_ready", "process_start_time_seconds", "process_max_fds")
MOST = ("manga_breaker_state", "manga_build", "manga_replica_lag_seconds")


def read_families(registry: CollectorRegistry) -> Families:
    return [
        {
            "name": family.name,
            "type": family.type,
            "about": family.documentation,
            "samples": [[each.name, sorted(each.labels.items()), each.value] for each in family.samples],
        }
        for family in registry.collect()
    ]


def only_counts(families: Families) -> Families:
    """Returns the families that outlive a process: a gauge ends with it."""
    return [family for family in families if family["type"] in COUNTS]


def merge_families(processes: Sequence[Families]) -> Families:
    """Returns one family a name: counts and most gauges are summed, a few are the least or the most of all processes."""
    whole: dict[str, dict[str, Any]] = {}
    values: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
    for family in (each for families in processes for each in families):
        name = family["name"]
        whole.setdefault(name, family)
        known = values.setdefault(name, {})
        for sample, labels, value in family["samples"]:
            key = (sample, tuple((label, text) for label, text in labels))
            known[key] = _merge_values(name, sample, known[key], value) if key in known else value
    return [
        {**family, "samples": [[sample, list(labels), value] for (sample, labels), value in values[name].items()]}
        for name, family in whole.items()
    ]


def _merge_values(family: str, sample: str, one: float, other: float) -> float:
    if family in LEAST or sample.endswith("_created"):
        return min(one, other)
    return max(one, other) if family in MOST else one + other


def render_families(families: Families) -> bytes:
    """Returns Prometheus's text format."""
    registry = CollectorRegistry()
    registry.register(_Collected(families))
    return generate_latest(registry)


class _Collected(Collector):
    def __init__(self, families: Families) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        for family in self._families:
            metric = Metric(family["name"], family["about"], family["type"])
            for sample, labels, value in family["samples"]:
                metric.add_sample(sample, dict(labels), value)
            yield metric


State = dict[str, Any]


class SharedProbes(Probes):
    """The probes of all workers: one that is away makes the server degraded, not unready."""

    def __init__(self, lifecycle: Lifecycle, dependencies: Dependencies, metrics: Metrics, peers: Peers) -> None:
        super().__init__(lifecycle, dependencies, metrics)
        self._peers = peers
        self._inherited: Families | None = None

    async def own_readiness(self) -> Readiness:
        return await super().readiness()

    async def readiness(self) -> Readiness:
        """Ready with the worst state of each dependency in any worker; not ready when no worker serves, or this one ends."""
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
        """Counts on from what the predecessor stored, so that no sum falls when a worker dies: Prometheus would take
        that for a reset of all workers."""
        path = self._peers.stored_answer("metrics", self._peers.number)
        if self._inherited is None:
            self._inherited = await asyncio.to_thread(_load, path)
        told = merge_families([read_families(self._metrics.registry), self._inherited])
        await asyncio.to_thread(_store, path, told)
        return told

    async def metrics(self, request: Request) -> Response:
        told = await self._peers.ask_all("metrics")
        for number, each in told.items():
            if each is None:
                told = {**told, number: await asyncio.to_thread(_load, self._peers.stored_answer("metrics", number))}
        return Response(render_families(merge_families(list(told.values()))), media_type=self._metrics.content_type)


def _worst(told: list[Mapping[str, State]]) -> dict[str, State]:
    """Returns the worst state of each dependency; among equals the slowest."""
    worst: dict[str, State] = {}
    for states in told:
        for name, state in states.items():
            worst[name] = max(worst.get(name, state), state, key=lambda each: (each["state"] != "ok", each["latency_ms"]))
    return worst


def _load(path: Path) -> Families:
    try:
        return only_counts(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError):
        return []


def _store(path: Path, told: Families) -> None:
    try:
        beside = path.with_suffix(".new")
        beside.write_text(json.dumps(told), "utf-8")
        beside.replace(path)
    except OSError:
        return


REPORT_SECONDS = 0.25


class Worker(Listening):
    def __init__(self, settings: Settings, port: int, folder: Path, shared: Shared, number: int, end: WorkerEnd) -> None:
        self._peers = Peers(folder, number, settings.workers)
        reloads = partial(self._peers.answer_reloads, settings.host, port)
        super().__init__(settings, port, (), partial(open_ports, shared=shared), reloads)
        self.number = number
        self._end = end
        self._stop = asyncio.Event()
        self._server: PatientServer | None = None
        self._connecting: set[asyncio.Task[None]] = set()

    def probes(self, app: Application) -> SharedProbes:
        probes = SharedProbes(app.lifecycle, app.dependencies, app.metrics, self._peers)
        self._peers.answers |= {"metrics": probes.own_metrics, "readiness": probes.own_readiness}
        return probes

    def stop_without_supervisor(self, stop: asyncio.Event) -> None:
        """Sets `stop` when the supervisor is gone, however it ended."""
        self._stop = stop
        asyncio.get_running_loop().add_reader(self._end.fileno(), self._take_connections)

    @asynccontextmanager
    async def accept(self, server: PatientServer) -> AsyncIterator[None]:
        self._server = server
        await server.ready.wait()
        reporting = start_task(self._report(server), "reports")
        async with self._peers.answering():
            try:
                yield
            finally:
                reporting.cancel()
                self._end.send(Report(takes=False, connections=0))
                self._server = None

    async def _report(self, server: PatientServer) -> None:
        while True:
            self._end.send(Report(takes=True, connections=server.open_connections))
            await asyncio.sleep(REPORT_SECONDS)

    def _take_connections(self) -> None:
        try:
            while (connection := self._end.take()) is not None:
                if self._server is None:
                    connection.close()
                else:
                    task = start_task(_connect(connection, self._server), "connection")
                    self._connecting.add(task)
                    task.add_done_callback(self._connecting.discard)
        except EOFError:
            asyncio.get_running_loop().remove_reader(self._end.fileno())
            self._stop.set()


async def _connect(connection: socket.socket, server: PatientServer) -> None:
    try:
        await asyncio.get_running_loop().connect_accepted_socket(server.connection, connection)
    except OSError:  # the client is gone
        connection.close()
