"""WebSockets as the application has them, where they are on."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from prometheus_client import Gauge
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from server.config.settings import Settings
from server.transport.http.bounds.admission import Admission
from server.transport.http.bounds.bodies import TOGETHER, Bodies
from server.transport.http.connection.connections import Connections
from server.transport.http.sse.direct import DirectTools
from server.transport.http.sse.streams import PING_SECONDS
from server.transport.http.upgrades import Upgrades
from server.transport.websocket.gate import PATH, Gate
from server.transport.websocket.unfinished import Unfinished
from server.transport.websocket.websockets import WebSockets

if TYPE_CHECKING:
    from server.application import Application

PONG_SECONDS = 20.0
"""How long a client may take to answer a ping before it is taken for one that has gone."""


class WebSocketUpgrades(Upgrades):
    """There may be as many as there may be SSE streams."""

    def __init__(self, settings: Settings, app: Application) -> None:
        bodies, admission = Bodies(settings.max_body_bytes), Admission(app.protocol.subscriptions, app.protocol.extensions)
        gauge = Gauge("manga_websockets", "Open WebSockets.", registry=app.metrics.registry)
        self.most, self._most_bytes = settings.max_sse_sessions, settings.max_body_bytes
        self._unfinished = Unfinished(TOGETHER * settings.max_body_bytes)
        protocol, admit = app.protocol, app.identifier.admit
        direct = DirectTools(protocol.call_directly, protocol.list_directly, protocol.knows, protocol.asks)
        self._sockets = WebSockets(protocol.mcp, self.most, bodies, admission, gauge, admit=admit, direct=direct)

    def routes(self) -> list[BaseRoute]:
        return [Route(PATH, self._sockets, methods=["GET"])]

    def around(self, asgi: ASGIApp) -> ASGIApp:
        return Gate(asgi)

    def options(self, connections: Connections) -> dict[str, Any]:
        # Imported here: a server without WebSockets does without the library.
        from server.transport.websocket.connection import LOGGER, WebSocketConnection

        logging.getLogger(LOGGER).setLevel(logging.ERROR)  # uvicorn notes each that comes, with its address
        return {
            "ws": partial(WebSocketConnection, all_of_them=connections, unfinished=self._unfinished),
            "ws_max_size": self._most_bytes,
            "ws_ping_interval": PING_SECONDS,
            "ws_ping_timeout": PONG_SECONDS,
            "ws_per_message_deflate": False,  # what is small on the wire could be anything in memory
        }

    async def close_all(self) -> None:
        await self._sockets.close_all()


def open_websockets(settings: Settings, app: Application) -> Upgrades:
    return WebSocketUpgrades(settings, app) if settings.websocket else Upgrades()
