"""Where a process serves: its port, who its connections come from, and for whom it answers."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

from server.packages.reload_socket import Reloads, answer_reloads
from server.transport.http.probes import Probes

if TYPE_CHECKING:
    from server.application import Application
    from server.backends import OpenPorts
    from server.commands.serve import PatientServer

logger = logging.getLogger("server.commands.serve")


class Place(Protocol):
    """`listeners` are those that the process accepts from itself; `open` has everything come in until the block ends."""

    port: int
    listeners: Sequence[socket.socket]
    ports: OpenPorts
    reloads: Reloads | None

    def probes(self, app: Application) -> Probes: ...

    def open(self, server: PatientServer) -> AbstractAsyncContextManager[None]: ...


class Standalone:
    """A process by itself."""

    def __init__(self, host: str, listener: socket.socket, ports: OpenPorts) -> None:
        self.port: int = listener.getsockname()[1]
        self.listeners: Sequence[socket.socket] = (listener,)
        self.ports = ports
        self.reloads: Reloads | None = partial(answer_reloads, host, self.port)
        self._host = host

    def probes(self, app: Application) -> Probes:
        return Probes(app.lifecycle, app.dependencies, app.metrics)

    @asynccontextmanager
    async def open(self, server: PatientServer) -> AsyncIterator[None]:
        say_listening(self._host, self.port)
        yield


def say_listening(host: str, port: int) -> None:
    logger.info("listening on http://%s:%d (SSE at /sse, Streamable HTTP at /mcp)", host, port)
