"""`python -m server serve` with MANGA_WORKERS: the supervisor's preparation, and the process of a worker.

A worker gets its connections from the supervisor, and answers health and metrics probes for all workers."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import logging
import os
import socket
import sys
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from server.application import Application
from server.backends.opening import EMBEDDED, Progress, Shared, open_ports, preload
from server.commands.errors import is_user_error, print_error
from server.commands.serve import Listening, PatientServer, end_with_parent, listen, log_listening, serve_on
from server.commands.workers.supervisor import End, Supervisor
from server.config.parsing import SettingError
from server.config.settings import Settings
from server.packages.packages import Reload, ReloadReport, answer_reloads
from server.runtime.health import Dependencies
from server.runtime.lifecycle import Lifecycle, stop_on_signals
from server.telemetry.log_output import exit_now, leave_stderr_to_no_thread, log_to_stderr, never_wait_for_stderr
from server.telemetry.metrics import Metrics
from server.transport.http.app import SERVES, Probes, Readiness, status_of
from session.failures import MemoryUnavailable
from session.redis.embedded import POLL_SECONDS, Valkey, own_folder
from session.resilience.tasks import Tasks, start_task

Rows = list[list[Any]]
"""Metric samples as JSON, each as [family, name, [[label, value], ...], value]."""
COUNTS = ("counter", "histogram")
"""Metric types whose values a worker's successor continues; gauges end with their process."""
LEAST = ("manga_ready", "process_start_time_seconds", "process_max_fds")
MOST = ("manga_breaker_state", "manga_build", "manga_replica_lag_seconds")


def read_rows(metrics: CollectorRegistry | Collector, types: Collection[str] | None = None) -> Rows:
    """Returns the samples of the metrics whose type is in `types`; None stands for all types."""
    return [
        [family.name, each.name, sorted(each.labels.items()), each.value]
        for family in metrics.collect()
        if types is None or family.type in types
        for each in family.samples
    ]


class MergedMetrics(Collector):
    """The samples of several processes, with the names, documentation and types of the metrics in `registry`. Merges
    families in `LEAST` and creation times by minimum, families in `MOST` by maximum, and others by sum."""

    def __init__(self, registry: CollectorRegistry, processes: Iterable[Rows]) -> None:
        self._families = {each.name: Metric(each.name, each.documentation, each.type) for each in registry.collect()}
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
        for (family, name, pairs), value in merged.items():
            if family in self._families:
                self._families[family].add_sample(name, dict(pairs), value)

    def collect(self) -> Iterable[Metric]:
        return self._families.values()


ASK_SECONDS = 0.7
"""Timeout for another worker's answer, after which that worker counts as absent. Its own probes may take half a second."""
RELOAD_SECONDS = 110.0
MOST_BYTES = 2**24
NOBODY = "No worker has answered in time: look at the server's log, and ask again."


class Peers:
    """Asks all workers questions, this one directly, the others over Unix sockets in `folder`. `answers` maps each question
    to the function that returns this worker's answer, which must be serialisable as JSON."""

    def __init__(self, folder: Path, number: int, workers: int) -> None:
        self._folder, self.number = folder, number
        self._numbers = range(1, workers + 1)
        self.answers: dict[str, Callable[[], Awaitable[Any]]] = {}

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[None]:
        with closing(await asyncio.start_unix_server(self._answer, self._socket(self.number))):
            yield

    async def ask_all(self, question: str, seconds: float = ASK_SECONDS) -> Mapping[int, Any]:
        """Returns the answers by worker number; None for a worker that did not answer within `seconds`."""
        answers = await asyncio.gather(*(self._ask(number, question, seconds) for number in self._numbers))
        return dict(zip(self._numbers, answers, strict=True))

    def stored_counts(self, number: int) -> Path:
        """Returns the path of the file in which a worker stores its counters for its successor."""
        return self._folder / f"metrics-{number}.json"

    async def answer_reloads(self, host: str, port: int, reload: Reload) -> None:
        """Serves requests to reload packages until cancelled. The first worker listens for them; all workers reload."""

        async def own() -> Any:
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

    async def _ask(self, number: int, question: str, seconds: float) -> Any:
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


class SharedProbes(Probes):
    """Probes that cover all workers. The server is degraded, not unready, while some workers are absent."""

    def __init__(self, lifecycle: Lifecycle, dependencies: Dependencies, metrics: Metrics, peers: Peers) -> None:
        super().__init__(lifecycle, dependencies, metrics)
        self._peers = peers
        peers.answers |= {"metrics": self.own_metrics, "readiness": super().readiness}
        self._inherited: Rows | None = None

    async def readiness(self) -> Readiness:
        """Returns the worst state of each dependency over the workers that serve, and the state of the workers. Returns this
        worker's own readiness if it does not serve, or if no worker reports in time that it serves."""
        began = time.monotonic()
        answers = await self._peers.ask_all("readiness")
        own, serving = await super().readiness(), [each for each in answers.values() if each and each["status"] in SERVES]
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
        path = self._peers.stored_counts(self._peers.number)
        if self._inherited is None:
            self._inherited = await asyncio.to_thread(_load, path)
        merged = MergedMetrics(self._metrics.registry, [read_rows(self._metrics.registry), self._inherited])
        await asyncio.to_thread(_store, path, read_rows(merged, COUNTS))
        return read_rows(merged)

    async def metrics(self, request: Request) -> Response:
        processes: list[Rows] = []
        for number, rows in (await self._peers.ask_all("metrics")).items():
            processes.append(await asyncio.to_thread(_load, self._peers.stored_counts(number)) if rows is None else rows)
        return Response(generate_latest(MergedMetrics(self._metrics.registry, processes)), media_type=CONTENT_TYPE_LATEST)


def _merge_worst(workers: Iterable[Mapping[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Returns the worst state of each dependency: of those that are not ok, or else of all, the one with most latency."""
    worst: dict[str, dict[str, Any]] = {}
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
    def __init__(self, settings: Settings, port: int, folder: Path, shared: Shared, number: int, end: End) -> None:
        self._peers = Peers(folder, number, settings.workers)
        reloads = partial(self._peers.answer_reloads, settings.host, port)
        super().__init__(settings, port, (), partial(open_ports, shared=shared), reloads)
        self.number = number
        self._end = end
        self._stop = asyncio.Event()
        self._server: PatientServer | None = None
        self._connecting = Tasks()

    def probes(self, app: Application) -> SharedProbes:
        return SharedProbes(app.lifecycle, app.dependencies, app.metrics, self._peers)

    async def serve(self) -> None:
        """Serves until a stop signal, such as SIGTERM, or until the supervisor is gone."""
        stop_on_signals(self._stop)
        asyncio.get_running_loop().add_reader(self._end, self._take_connections)
        await serve_on(self, self._stop)

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
                self._end.send_report(takes=False, connections=0)
                self._server = None

    async def _report(self, server: PatientServer) -> None:
        while True:
            self._end.send_report(takes=True, connections=len(server.connections))
            await asyncio.sleep(0.25)  # a tenth of `FRESH_SECONDS`

    def _take_connections(self) -> None:
        try:
            while (connection := self._end.receive_connection()) is not None:
                if self._server is None:
                    connection.close()
                else:
                    self._connecting.start(_connect(connection, self._server), "connection")
        except EOFError:
            asyncio.get_running_loop().remove_reader(self._end)
            self._stop.set()


async def _connect(connection: socket.socket, server: PatientServer) -> None:
    try:
        await asyncio.get_running_loop().connect_accepted_socket(server.connection, connection)
    except OSError:  # the client is gone
        connection.close()


PREFIX = "manga-workers-"
logger = logging.getLogger("server.commands.serve")
M_ARENA_MAX = -8


def supervise(settings: Settings, progress: Progress | None) -> NoReturn:
    """Serves until a stop signal, such as SIGTERM, then ends the process with the exit status. Raises `SettingError` or
    `StoreFileError` if a setting or a file is unusable."""
    # Read when NumPy is imported: its threads do not survive a fork, and searches use none (backends/embedding.py).
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    # One malloc arena for all threads (mallopt(3)): glibc would keep some megabytes per thread in every worker, and threads
    # of Python allocate one at a time anyway (GIL).
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
    leave_stderr_to_no_thread()
    log_to_stderr(settings.log_level)
    with ExitStack() as stack:
        listener = stack.enter_context(listen(settings))
        folder = stack.enter_context(own_folder(PREFIX))
        valkey = stack.enter_context(closing(Valkey(folder))) if settings.redis_url == EMBEDDED else None
        if valkey is not None:
            try:
                while not valkey.has_started():
                    time.sleep(POLL_SECONDS)
            except MemoryUnavailable as error:
                raise SettingError(str(error)) from None
            # Only these workers use this Valkey, so a relay over Unix sockets suffices.
            relay = f"unix://{folder / 'relay'}" if settings.relay == "auto" else settings.relay
            settings = replace(settings, redis_url=f"unix://{valkey.socket}", relay=relay)
        port = listener.getsockname()[1]
        make_worker = partial(Worker, settings, port, folder, preload(settings, folder, progress))
        gc.collect()
        gc.freeze()  # a collection writes to every object, so that each worker would copy all memory pages
        supervisor = Supervisor(
            settings.workers,
            listener,
            lambda number, end: _run_worker(make_worker(number, end)),
            settings.turn_budget_ms / 1000,
            partial(log_listening, settings, port),
            valkey.restart_if_dead if valkey is not None else lambda: None,
        )
        status = supervisor.run()
    logger.info("stopped")
    exit_now(status)  # a normal exit would free all objects, which takes long


def _run_worker(worker: Worker) -> NoReturn:
    end_with_parent()
    never_wait_for_stderr()
    log_to_stderr(worker.settings.log_level, f"worker {worker.number}")
    try:
        asyncio.run(worker.serve())
    except Exception as error:
        if is_user_error(error):
            exit_now(print_error(str(error)))
        traceback.print_exc(file=sys.stderr)
        exit_now(1)
    exit_now(0)
