"""The HTTP and stdio servers as processes: listening sockets, limits, signals and graceful shutdown."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import resource
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial

import uvicorn

from server.application import Application
from server.backends.opening import OpenPorts, open_ports
from server.commands.errors import progress_bar
from server.config.parsing import LONGEST_USER, SettingError
from server.config.settings import Settings
from server.ops import open_ops
from server.packages.packages import Reloads, answer_reloads
from server.runtime.lifecycle import drain, stop_on_signals, wait_for_either
from server.telemetry.log_output import exit_now
from server.transport.http.app import Addon, HttpApp, Probes, http_app
from server.transport.http.connection import Connections, PlainRequests
from server.transport.stdio import Lines, OpenCalls, private_stdin, serve_lines
from server.transport.websocket.websockets import open_websockets
from server.wiring import open_app


class Listening:
    """The source of a process's connections: the sockets in `listeners`, or in the subclass `Worker` the connections that
    the supervisor passes. `ports` opens the backends; `reloads` serves requests to reload the tool packages."""

    number: int | None = None
    """The worker's number; None in a single process."""

    def __init__(
        self, settings: Settings, port: int, listeners: Sequence[socket.socket], ports: OpenPorts, reloads: Reloads
    ) -> None:
        self.settings, self.port, self.listeners = settings, port, listeners
        self.ports, self.reloads = ports, reloads

    def probes(self, app: Application) -> Probes:
        return Probes(app.lifecycle, app.dependencies, app.metrics)

    @asynccontextmanager
    async def accept(self, server: PatientServer) -> AsyncIterator[None]:
        log_listening(self.settings, self.port)
        yield


def log_listening(settings: Settings, port: int) -> None:
    further = ", WebSocket at /ws" if settings.websocket else ""
    logger.info("listening on http://%s:%d (SSE at /sse, Streamable HTTP at /mcp%s)", settings.host, port, further)


logger = logging.getLogger(__name__)
ADDONS: Sequence[Callable[[Settings, Application, int | None], Addon]] = [
    open_ops,
]
"""Functions that open paths served in addition to MCP."""
IDLE_SECONDS = 75
"""Seconds that an idle connection stays open, longer than in clients (httpx: 5) and load balancers (60): if the server
closes first, a request that is just being sent is lost."""
BACKLOG = 2048
MOST_REQUESTS = 4000
"""Most connections besides SSE streams and WebSockets. Streamable HTTP sessions and subscriptions together take fewer."""
SWITCH_SECONDS = 0.0005
"""The interpreter's thread switch interval. With Python's default of 5 ms, every iteration of the event loop waits that long
for each computing thread: recommendations for a dozen callers would delay an order by half a second."""
GARBAGE = (5_000, 5, 5)
"""Garbage collection thresholds (Python's: 700, 10, 10): new objects before a collection, and collections before one of
older generations. Under load a collection runs every few seconds, and a full one every minute or two."""
OTHER_FILES = 256
"""File descriptors that the process needs apart from client connections: backends, files, libraries."""


class PatientServer(uvicorn.Server):
    """A uvicorn server that also closes connections whose request or reader is too slow. uvicorn's own signal handlers are
    not installed: they raise SIGTERM again after a graceful shutdown, so that the exit status would be 143."""

    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        super().__init__(config)
        self.connections = connections
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            # asyncio's `backlog` limits both its accepts per wakeup and the kernel's queue: enlarge the queue again.
            listener.listen(BACKLOG)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            self.connections.close_overdue()
        return await super().on_tick(counter)

    def connection(self) -> asyncio.Protocol:
        """Returns a protocol instance for a connection that the supervisor has accepted."""
        make, state = self.config.http_protocol_class, self.server_state
        return make(config=self.config, server_state=state, app_state=self.lifespan.state)  # type: ignore[call-arg]


async def serve(settings: Settings) -> None:
    """Serves until a stop signal, and then finishes open calls within one turn's budget. Raises `SettingError`."""
    stop = asyncio.Event()
    stop_on_signals(stop)
    with listen(settings) as listener:
        port: int = listener.getsockname()[1]
        ports = partial(open_ports, progress=progress_bar(sys.stderr))
        reloads = partial(answer_reloads, settings.host, port)
        await serve_on(Listening(settings, port, [listener], ports, reloads), stop)
    logger.info("stopped")


async def serve_on(listening: Listening, stop: asyncio.Event) -> None:
    """Serves until `stop` is set or the HTTP server ends, then drains open calls. Raises the HTTP server's error, if any."""
    settings = listening.settings
    sys.setswitchinterval(SWITCH_SECONDS)
    async with open_app(settings, ports=listening.ports, reloads=listening.reloads) as app:
        # Excludes the catalogue and the libraries from garbage collection. A full collection would stop every call for some
        # 100 ms and find nothing to free. Calls create little garbage, so collections may be rare.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GARBAGE)
        upgrades = open_websockets(settings, app)
        addons = [*(opened(settings, app, listening.number) for opened in ADDONS), upgrades]
        http = http_app(settings, app, listening.port, listening.probes(app), addons)
        async with http.endpoint.manager.run():
            server = _uvicorn(settings, http, upgrades)
            app.metrics.connections_held.set_function(server.connections.count_held)
            app.metrics.connections_most.set(server.connections.most)
            serving = asyncio.create_task(server.serve(list(listening.listeners)), name="uvicorn")
            async with listening.accept(server):
                await wait_for_either(serving, stop)
                await drain(app.lifecycle, app.pipeline.shed, app.turns, settings.turn_budget_ms / 1000)
            app.protocol.subscriptions.close()
            await http.close_all()
            await server.connections.drop_unread()
            server.should_exit = True
            await serving


def _uvicorn(settings: Settings, served: HttpApp, upgrades: Addon) -> PatientServer:
    connections = Connections(_connection_limit(settings.max_sse_sessions + upgrades.most + MOST_REQUESTS))
    config = uvicorn.Config(
        served.asgi,
        http=partial(PlainRequests, all_connections=connections),  # type: ignore[arg-type]
        **upgrades.options(connections),
        # Limits the connections accepted at once: each takes a file descriptor before an overdue connection is closed.
        backlog=16,
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=1,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
    )
    return PatientServer(config, connections)


def _connection_limit(connections: int) -> int:
    """Raises the limit on open files, as far as allowed, to fit `connections`. Returns how many of these the limit has room
    for: the server cannot accept a connection without a free file descriptor."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    most = max(soft - OTHER_FILES, soft // 2)
    logger.warning("only %d connections can be open at once: the limit on open files (ulimit -n) is %d", most, soft)
    return most


def listen(settings: Settings) -> socket.socket:
    """Returns the bound, open listening socket. Call it before anything is loaded, to report a port in use at once. Raises
    `SettingError`."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # IPPROTO_TCP is stated, because asyncio sets TCP_NODELAY only on sockets created with it: otherwise each answer would
    # wait some 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if sys.platform == "linux":
        # Bounds the unsent bytes that the kernel holds for a client that does not read: without it they are megabytes,
        # and a slow reader is noticed later (TCP_NOTSENT_LOWAT of Linux)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 64 * 1024)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(BACKLOG)  # with SO_REUSEADDR two sockets may bind a port, but only one may listen
    except OSError as error:
        listener.close()
        where = f"{settings.host}:{settings.port}"
        raise SettingError(f"MANGA_HOST, MANGA_PORT: cannot listen on {where}: {error.strerror}") from None
    return listener


def end_with_parent() -> None:
    """Asks Linux to send SIGTERM when the parent process dies (prctl(2)). Does nothing on other systems."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


async def serve_stdio(settings: Settings, user: str | None) -> None:
    """Serves one client until stdin ends or a stop signal arrives, then waits for open calls up to one turn's budget. Ends
    the process if a thread then blocks on stdin or stdout. `user` is the customer unless the client, which is trusted,
    states one. Raises `SettingError`."""
    if user and len(user) > LONGEST_USER:
        raise SettingError(f"--user: may have at most {LONGEST_USER} characters")
    stop = asyncio.Event()
    stop_on_signals(stop)
    calls, budget = OpenCalls(), settings.turn_budget_ms / 1000
    async with open_app(replace(settings, user=user or None), local=True) as app:
        lines = Lines(private_stdin(), settings.max_body_bytes)
        talking = asyncio.create_task(serve_lines(app.protocol.mcp, lines, calls, budget, stop), name="stdio")
        await wait_for_either(talking, stop)
        if talking.done():
            talking.result()
        elif not calls.has_ended:
            await calls.wait_answered(budget)
    if not talking.done():
        exit_now(0)  # a thread still blocks on stdin or stdout, and a normal exit would wait for it
