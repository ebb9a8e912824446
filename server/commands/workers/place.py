"""Where a worker serves: connections come from its supervisor, and it answers for all of them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from server.backends import OpenPorts, Shared, open_ports
from server.commands.workers.channel import Report, WorkerEnd
from server.commands.workers.peers import Peers
from server.commands.workers.probes import SharedProbes
from server.config.settings import Settings
from server.packages.reload_socket import Reloads
from session.resilience.tasks import start_task

if TYPE_CHECKING:
    from server.application import Application
    from server.commands.serve import PatientServer

REPORT_SECONDS = 0.25


class WorkerPlace:
    """A `Place`."""

    listeners: Sequence[socket.socket] = ()

    def __init__(self, settings: Settings, port: int, folder: Path, shared: Shared, number: int, end: WorkerEnd) -> None:
        self.number: int | None = number
        self.port = port
        self.ports: OpenPorts = partial(open_ports, shared=shared)
        self._end = end
        self._peers = Peers(folder, number, settings.workers)
        self.reloads: Reloads | None = partial(self._peers.answer_reloads, settings.host, port)
        self._stop = asyncio.Event()
        self._server: PatientServer | None = None
        self._making: set[asyncio.Task[None]] = set()

    def probes(self, app: Application) -> SharedProbes:
        probes = SharedProbes(app.lifecycle, app.dependencies, app.metrics, self._peers)
        self._peers.answers |= {"metrics": probes.own_metrics, "readiness": probes.own_readiness}
        return probes

    def stop_without_supervisor(self, stop: asyncio.Event) -> None:
        """Begins the end when the supervisor is gone, however it went."""
        self._stop = stop
        asyncio.get_running_loop().add_reader(self._end.fileno(), self._come)

    @asynccontextmanager
    async def open(self, server: PatientServer) -> AsyncIterator[None]:
        self._server = server
        await server.ready.wait()
        reporting = start_task(self._report(server), "reports")
        async with self._peers.answering():
            try:
                yield
            finally:
                reporting.cancel()
                self._end.tell(Report(takes=False, connections=0))
                self._server = None

    async def _report(self, server: PatientServer) -> None:
        while True:
            self._end.tell(Report(takes=True, connections=server.open_connections))
            await asyncio.sleep(REPORT_SECONDS)

    def _come(self) -> None:
        try:
            while (connection := self._end.take()) is not None:
                if self._server is None:
                    connection.close()
                else:
                    self._begin(connection, self._server)
        except EOFError:
            asyncio.get_running_loop().remove_reader(self._end.fileno())
            self._stop.set()

    def _begin(self, connection: socket.socket, server: PatientServer) -> None:
        task = start_task(_connected(connection, server), "connection")
        self._making.add(task)
        task.add_done_callback(self._making.discard)


async def _connected(connection: socket.socket, server: PatientServer) -> None:
    try:
        await asyncio.get_running_loop().connect_accepted_socket(server.connection, connection)
    except OSError:  # whoever it was is gone
        connection.close()
