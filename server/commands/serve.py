"""The HTTP server and the stdio server as processes: sockets, limits, signals and the graceful stop."""

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
from functools import partial

import uvicorn

from server.application import Application
from server.backends import OpenPorts, Progress, open_ports
from server.config.parsing import SettingError
from server.config.settings import Settings
from server.ops import open_ops
from server.packages.packages import Reloads, answer_reloads
from server.runtime.lifecycle import drain, stop_on_signals, wait_for_either
from server.telemetry.log_output import leave
from server.transport.http.app import Addon, HttpApp, Probes, http_app
from server.transport.http.connection import Connections, HttpConnection
from server.transport.stdio import Lines, OpenCalls, private_stdin, serve_lines
from server.transport.websocket.websockets import open_websockets
from server.wiring import open_app


def connection_class() -> Callable[..., asyncio.Protocol]:
    """Returns the fast one if its library is installed, which has no wheel for every platform."""
    try:
        from server.transport.http.connection import PlainRequests
    except ImportError:
        return HttpConnection
    return PlainRequests


class Listening:
    """How a process gets its connections: from its own `listeners`, or, as a worker, from its supervisor."""

    number: int | None = None
    """The worker's number."""

    def __init__(
        self, settings: Settings, port: int, listeners: Sequence[socket.socket], ports: OpenPorts, reloads: Reloads
    ) -> None:
        self.settings, self.port, self.listeners = settings, port, listeners
        self.ports, self.reloads = ports, reloads

    def probes(self, app: Application) -> Probes:
        return Probes(app.lifecycle, app.dependencies, app.metrics)

    @asynccontextmanager
    async def accept(self, server: PatientServer) -> AsyncIterator[None]:
        """Lets connections in within the block."""
        log_listening(self.settings, self.port)
        yield


def log_listening(settings: Settings, port: int) -> None:
    further = ", WebSocket at /ws" if settings.websocket else ""
    logger.info("listening on http://%s:%d (SSE at /sse, Streamable HTTP at /mcp%s)", settings.host, port, further)


logger = logging.getLogger(__name__)
ROOMS: Sequence[Callable[[Settings, Application, int | None], Addon]] = [
    open_ops,
]
"""Paths served beside MCP."""
IDLE_SECONDS = 75
"""Longer than clients (httpx: 5) and load balancers (60) keep an idle connection: if the server closes first, a request that
is just being sent is lost."""
BACKLOG = 2048
MOST_REQUESTS = 4000
"""Connections beside the SSE streams; more than Streamable HTTP sessions and subscriptions can take together."""
SWITCH_SECONDS = 0.0005
"""The interpreter's switch interval. With Python's own, of 5 ms, each turn of the event loop waits so long for each thread
that computes: recommendations and genres for a dozen callers make an order wait for half a second."""
GARBAGE = (5_000, 5, 5)
"""Objects made and not freed before the collector looks at them, and its rounds before it looks at older ones: under load
every few seconds, and through all of them every minute or two. Python's own are 700, 10 and 10."""
OTHER_FILES = 256
"""Files that the process opens for itself: backends, files, libraries."""


class PatientServer(uvicorn.Server):
    """uvicorn that ends overdue connections, without its signal handlers: they would raise SIGTERM again after a graceful
    stop and exit with 143."""

    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        super().__init__(config)
        self.connections = connections
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            # asyncio takes as many connections at a stretch as its backlog says, and tells the kernel to queue no more.
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
        """Makes the protocol of a connection that the supervisor has accepted."""
        make, state = self.config.http_protocol_class, self.server_state
        return make(config=self.config, server_state=state, app_state=self.lifespan.state)  # type: ignore[call-arg]


async def serve(settings: Settings, progress: Progress | None = None) -> None:
    """Serves until SIGTERM or SIGINT, then answers open calls for one turn's budget and returns."""
    stop = asyncio.Event()
    stop_on_signals(stop)
    with listen(settings) as listener:
        port: int = listener.getsockname()[1]
        reloads = partial(answer_reloads, settings.host, port)
        await serve_on(Listening(settings, port, [listener], partial(open_ports, progress=progress), reloads), stop)
    logger.info("stopped")


async def serve_on(listening: Listening, stop: asyncio.Event) -> None:
    """Serves until `stop`."""
    settings = listening.settings
    sys.setswitchinterval(SWITCH_SECONDS)
    async with open_app(settings, ports=listening.ports, reloads=listening.reloads) as app:
        _freeze_objects()
        rooms = [opened(settings, app, listening.number) for opened in ROOMS]
        http = http_app(settings, app, listening.port, listening.probes(app), open_websockets(settings, app), rooms)
        async with http.endpoint.manager.run():
            server = _uvicorn(settings, http)
            app.metrics.watch_connections(server.connections.count_held, server.connections.most)
            serving = asyncio.create_task(server.serve(list(listening.listeners)), name="uvicorn")
            async with listening.accept(server):
                await wait_for_either(serving, stop)  # the server ending by itself is a failure
                await drain(app.lifecycle, app.pipeline.shed, app.turns, settings.turn_budget_ms / 1000)
            app.protocol.subscriptions.close()
            await http.close_all()
            server.should_exit = True
            await serving


def _freeze_objects() -> None:
    """Excludes the catalogue and the libraries from garbage collection: a full round stops every call for some 100 ms, more
    than a trip to Redis may take, and finds nothing. Calls leave little garbage, so that rounds may be rare."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


def _uvicorn(settings: Settings, served: HttpApp) -> PatientServer:
    connections = Connections(_connection_limit(settings.max_sse_sessions + served.upgrades.most + MOST_REQUESTS))
    config = uvicorn.Config(
        served.whole(),
        http=partial(connection_class(), all_connections=connections),  # type: ignore[arg-type]
        **served.upgrades.options(connections),
        # New connections are accepted before the ones that make room for them are closed: each holds a file
        # meanwhile
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
    """Returns `connections`, or as many as the limit on open files allows: without a file for the next connection a server
    stops accepting any."""
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
    """Binds the port before anything is loaded, so that a port in use is reported at once. Raises `SettingError`."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Named as TCP, because asyncio turns Nagle's algorithm off only for sockets that say so: without it each answer would
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
    """Asks Linux for SIGTERM when the parent dies, however it dies (prctl(2)). Elsewhere this does nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


async def serve_stdio(settings: Settings) -> None:
    """Serves until stdin ends or a signal comes. The parent process is trusted to state the identity."""
    stop = asyncio.Event()
    stop_on_signals(stop)
    calls, budget = OpenCalls(), settings.turn_budget_ms / 1000
    async with open_app(settings, local=True) as app:
        lines = Lines(private_stdin(), settings.max_body_bytes)
        talking = asyncio.create_task(serve_lines(app.protocol.mcp, lines, calls, budget, stop), name="stdio")
        await wait_for_either(talking, stop)
        if talking.done():
            talking.result()
        elif not calls.has_ended:
            await calls.wait_answered(budget)
    if not talking.done():
        leave(0)  # a thread still waits for a line of stdin, or for room in stdout, and the interpreter would wait for it
