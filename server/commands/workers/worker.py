"""A worker process: gets its connections from the supervisor, and answers health and metrics probes for all workers."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from server.application import Application
from server.backends.opening import Shared, open_ports
from server.commands.serve import Listening, PatientServer
from server.commands.workers.supervisor import Report, WorkerEnd
from server.config.settings import Settings
from server.packages.packages import Reload, ReloadReport, answer_reloads
from server.runtime.health import Dependencies
from server.runtime.lifecycle import Lifecycle
from server.telemetry.metrics import Metrics
from server.transport.http.app import SERVES, Probes, Readiness, status_of
from session.resilience.tasks import Tasks, start_task

Rows = list[list[Any]]
"""Metric samples as JSON: family, name, pairs of labels, value."""
COUNTS = ("counter", "histogram")
"""Metric types whose values a worker's successor continues; gauges end with their process."""
LEAST = ("manga_ready", "process_start_time_seconds", "process_max_fds")
MOST = ("manga_breaker_state", "manga_build", "manga_replica_lag_seconds")


def read_rows(registry: CollectorRegistry) -> Rows:
    return [
        [family.name, each.name, sorted(each.labels.items()), each.value]
        for family in registry.collect()
        for each in family.samples
    ]


def merge_rows(processes: Iterable[Rows]) -> Rows:
    """Merges processes' samples: families in `LEAST` and creation times by minimum, in `MOST` by maximum, others by sum."""
    merged: dict[tuple[str, str, tuple[tuple[str, str], ...]], float] = {}
    for family, name, labels, value in chain.from_iterable(processes):
        key = (family, name, tuple(map(tuple, labels)))
        known = merged.get(key)
        if known is None:
            merged[key] = value
        elif family in LEAST or name.endswith("_created"):
            merged[key] = min(known, value)
        else:
            merged[key] = max(known, value) if family in MOST else known + value
    return [[*key, value] for key, value in merged.items()]


class MergedMetrics(Collector):
    """A Prometheus collector of `rows`, with the names, documentation and types of the metrics in `registry`."""

    def __init__(self, registry: CollectorRegistry, rows: Rows) -> None:
        self._families = {each.name: Metric(each.name, each.documentation, each.type) for each in registry.collect()}
        for family, name, labels, value in rows:
            if family in self._families:
                self._families[family].add_sample(name, dict(labels), value)

    def collect(self) -> Iterable[Metric]:
        return self._families.values()

    def list_counts(self) -> Rows:
        counts = (family for family in self._families.values() if family.type in COUNTS)
        return [[family.name, each.name, [*each.labels.items()], each.value] for family in counts for each in family.samples]


ASK_SECONDS = 0.7
"""Timeout for another worker's answer; without one it counts as absent. Its own probes may take half a second."""
RELOAD_SECONDS = 110.0
MOST_BYTES = 2**24
NOBODY = "No worker has answered in time: look at the server's log, and ask again."
Json = Any
Answer = Callable[[], Awaitable[Json]]


class Peers:
    """Asks all workers questions, this one directly, the others over Unix sockets in `folder`. `answers` maps each question
    to the function that answers it here."""

    def __init__(self, folder: Path, number: int, workers: int) -> None:
        self._folder, self.number = folder, number
        self._numbers = range(1, workers + 1)
        self.answers: dict[str, Answer] = {}

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[None]:
        path = self._socket(self.number)
        path.unlink(missing_ok=True)  # left by a predecessor
        server = await asyncio.start_unix_server(self._answer, path)
        try:
            yield
        finally:
            server.close()

    async def ask_all(self, question: str, seconds: float = ASK_SECONDS) -> Mapping[int, Json]:
        """Returns the answers by worker number; None for a worker that did not answer within `seconds`."""
        answers = await asyncio.gather(*(self._ask(number, question, seconds) for number in self._numbers))
        return dict(zip(self._numbers, answers, strict=True))

    def stored_answer(self, question: str, number: int) -> Path:
        """Returns the path of the file in which a worker stores an answer for its successor."""
        return self._folder / f"{question}-{number}.json"

    async def answer_reloads(self, host: str, port: int, reload: Reload) -> None:
        """Serves requests to reload packages until cancelled. The first worker listens for them; all workers reload."""

        async def own() -> Json:
            return asdict(await reload())

        async def everywhere() -> ReloadReport:
            reports = [
                ReloadReport.from_json(each) for each in (await self.ask_all("reload", RELOAD_SECONDS)).values() if each
            ]
            return next((each for each in reports if not each.well), reports[0] if reports else ReloadReport(problem=NOBODY))

        self.answers["reload"] = own
        if self.number == 1:
            await answer_reloads(host, port, everywhere)
        await asyncio.get_running_loop().create_future()

    async def _ask(self, number: int, question: str, seconds: float) -> Json:
        with suppress(OSError, ValueError, KeyError):  # TimeoutError is an OSError
            async with asyncio.timeout(seconds):
                if number == self.number:
                    return await self.answers[question]()
                reader, writer = await asyncio.open_unix_connection(self._socket(number), limit=MOST_BYTES)
                with closing(writer):
                    writer.write(f"{question}\n".encode())
                    return json.loads(await reader.readline())
        return None

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(OSError, ValueError, KeyError):
            async with asyncio.timeout(RELOAD_SECONDS):
                question = (await reader.readline()).decode().strip()
                writer.write(json.dumps(await self.answers[question]()).encode() + b"\n")
                await writer.drain()

    def _socket(self, number: int) -> Path:
        return self._folder / f"worker-{number}.sock"


State = dict[str, Any]


class SharedProbes(Probes):
    """Probes that cover all workers. The server is degraded, not unready, while some workers are absent."""

    def __init__(self, lifecycle: Lifecycle, dependencies: Dependencies, metrics: Metrics, peers: Peers) -> None:
        super().__init__(lifecycle, dependencies, metrics)
        self._peers = peers
        self._inherited: Rows | None = None

    async def own_readiness(self) -> Readiness:
        return await super().readiness()

    async def readiness(self) -> Readiness:
        """Returns the worst state of each dependency over the workers that serve, and the state of the workers. Returns this
        worker's own readiness if it does not serve, or if none answers in time that it serves."""
        began = time.monotonic()
        answers = await self._peers.ask_all("readiness")
        own, serving = await self.own_readiness(), [each for each in answers.values() if each and each["status"] in SERVES]
        if not serving or own["status"] not in SERVES:
            return own
        states = _merge_worst(each["dependencies"] for each in serving)
        states["workers"] = {
            "state": "ok" if len(serving) == len(answers) else "down",
            "latency_ms": round((time.monotonic() - began) * 1000, 2),
            "detail": f"{len(serving)} of {len(answers)} serve",
        }
        return {"status": status_of(states), "dependencies": states}

    async def own_metrics(self) -> Rows:
        """Returns this worker's samples, which continue its predecessors' counters, and stores the counters for a successor.
        Otherwise sums would fall when a worker dies, and Prometheus would take that for a reset."""
        path = self._peers.stored_answer("metrics", self._peers.number)
        if self._inherited is None:
            self._inherited = await asyncio.to_thread(_load, path)
        rows = merge_rows([read_rows(self._metrics.registry), self._inherited])
        await asyncio.to_thread(_store, path, MergedMetrics(self._metrics.registry, rows).list_counts())
        return rows

    async def metrics(self, request: Request) -> Response:
        processes: list[Rows] = []
        for number, rows in (await self._peers.ask_all("metrics")).items():
            stored = self._peers.stored_answer("metrics", number)
            processes.append(await asyncio.to_thread(_load, stored) if rows is None else rows)
        merged = MergedMetrics(self._metrics.registry, merge_rows(processes))
        return Response(generate_latest(merged), media_type=CONTENT_TYPE_LATEST)


def _merge_worst(workers: Iterable[Mapping[str, State]]) -> dict[str, State]:
    """Returns for each dependency its worst state: one that is not ok before one that is, then the one with most latency."""
    worst: dict[str, State] = {}
    for name, state in chain.from_iterable(states.items() for states in workers):
        worst[name] = max(worst.get(name, state), state, key=lambda each: (each["state"] != "ok", each["latency_ms"]))
    return worst


def _load(path: Path) -> Rows:
    try:
        rows: Rows = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return rows


def _store(path: Path, rows: Rows) -> None:
    with suppress(OSError):
        beside = path.with_suffix(".new")
        beside.write_text(json.dumps(rows), "utf-8")
        beside.replace(path)


class Worker(Listening):
    def __init__(self, settings: Settings, port: int, folder: Path, shared: Shared, number: int, end: WorkerEnd) -> None:
        self._peers = Peers(folder, number, settings.workers)
        reloads = partial(self._peers.answer_reloads, settings.host, port)
        super().__init__(settings, port, (), partial(open_ports, shared=shared), reloads)
        self.number = number
        self._end = end
        self._stop = asyncio.Event()
        self._server: PatientServer | None = None
        self._connecting = Tasks()

    def probes(self, app: Application) -> SharedProbes:
        probes = SharedProbes(app.lifecycle, app.dependencies, app.metrics, self._peers)
        self._peers.answers |= {"metrics": probes.own_metrics, "readiness": probes.own_readiness}
        return probes

    def stop_without_supervisor(self, stop: asyncio.Event) -> None:
        """Starts receiving connections, and sets `stop` once the supervisor is gone."""
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
            self._end.send(Report(takes=True, connections=len(server.connections)))
            await asyncio.sleep(0.25)  # a tenth of `FRESH_SECONDS`

    def _take_connections(self) -> None:
        try:
            while (connection := self._end.receive_connection()) is not None:
                if self._server is None:
                    connection.close()
                else:
                    self._connecting.start(_connect(connection, self._server), "connection")
        except EOFError:
            asyncio.get_running_loop().remove_reader(self._end.fileno())
            self._stop.set()


async def _connect(connection: socket.socket, server: PatientServer) -> None:
    try:
        await asyncio.get_running_loop().connect_accepted_socket(server.connection, connection)
    except OSError:  # the client is gone
        connection.close()
