"""Where a process serves: its port, who its connections come from, and for whom it answers."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

from server.config.settings import Settings
from server.packages.reload_socket import Reloads, answer_reloads
from server.transport.http.probes import Probes

if TYPE_CHECKING:
    from server.application import Application
    from server.backends import OpenPorts
    from server.commands.serve import PatientServer

logger = logging.getLogger("server.commands.serve")


class Place(Protocol):
    """`listeners` are those that the process accepts from itself; `open` has everything come in until the block ends.
    `number` is its own among the workers, where there are several."""

    number: int | None
    port: int
    listeners: Sequence[socket.socket]
    ports: OpenPorts
    reloads: Reloads | None

    def probes(self, app: Application) -> Probes: ...

    def open(self, server: PatientServer) -> AbstractAsyncContextManager[None]: ...


class Standalone:
    """A process by itself."""

    number: int | None = None

    def __init__(self, settings: Settings, listener: socket.socket, ports: OpenPorts) -> None:
        self.port: int = listener.getsockname()[1]
        self.listeners: Sequence[socket.socket] = (listener,)
        self.ports = ports
        self.reloads: Reloads | None = partial(answer_reloads, settings.host, self.port)
        self._settings = settings

    def probes(self, app: Application) -> Probes:
        return Probes(app.lifecycle, app.dependencies, app.metrics)

    @asynccontextmanager
    async def open(self, server: PatientServer) -> AsyncIterator[None]:
        say_listening(self._settings, self.port)
        yield


def say_listening(settings: Settings, port: int) -> None:
    further = ", WebSocket at /ws" if settings.websocket else ""
    logger.info("listening on http://%s:%d (SSE at /sse, Streamable HTTP at /mcp%s)", settings.host, port, further)
